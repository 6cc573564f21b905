/*
 * Where toolchains lie, and which parts of them are shown: data of toolchains.c alone.
 */
#ifndef NACRE_ENGINE_TOOLCHAINS_TABLE_H
#define NACRE_ENGINE_TOOLCHAINS_TABLE_H

#include <stddef.h>

enum row_flag {
    /* Without its variable the tool looks at the usual place, so it is not told of that. */
    ROW_KNOWS_ITS_PLACE = 1 << 0,
};

struct row {
    const char *name;
    const char *variable; /* that may say where it is, or NULL */
    const char *place;    /* below home; or absolute; or NULL. A last '*' is the rest of a name */
    const char *parts;    /* below the place, or below home with "~/"; NULL: all of it */
    const char *mark;     /* what a place that only the variable names must hold; NULL: a part */
    const char *needs;    /* names of rows that come along */
    unsigned flags;
};

#define CONDA_PARTS                                                                                \
    "bin condabin conda-meta compiler_compat envs etc include lib libexec sbin share shell ssl "   \
    "x86_64-conda-linux-gnu aarch64-conda-linux-gnu"
#define BREW_PARTS "bin sbin lib libexec opt Cellar include share etc/openssl@3 etc/ca-certificates"
#define NVM_PARTS  "versions alias nvm.sh nvm-exec bash_completion"

static const struct row rows[] = {
    /* Python */
    {"pyenv", "PYENV_ROOT", ".pyenv", NULL, "versions", NULL, 0},
    {"conda", NULL, "miniconda3", CONDA_PARTS, NULL, NULL, 0},
    {"conda", NULL, "miniconda", CONDA_PARTS, NULL, NULL, 0},
    {"conda", NULL, "anaconda3", CONDA_PARTS, NULL, NULL, 0},
    {"conda", NULL, "anaconda", CONDA_PARTS, NULL, NULL, 0},
    {"conda", NULL, "miniforge3", CONDA_PARTS, NULL, NULL, 0},
    {"conda", NULL, "mambaforge", CONDA_PARTS, NULL, NULL, 0},
    {"conda", "CONDA_PREFIX", NULL, CONDA_PARTS, NULL, NULL, 0},
    {"mamba", "MAMBA_ROOT_PREFIX", "micromamba", CONDA_PARTS, NULL, NULL, 0},
    {"mamba", NULL, ".local/share/mamba", CONDA_PARTS, NULL, NULL, 0},
    {"pixi", "PIXI_HOME", ".pixi", "bin envs", NULL, NULL, 0},
    {"uv", NULL, ".local/share/uv", "python tools", NULL, NULL, 0},
    {"uv-python", "UV_PYTHON_INSTALL_DIR", NULL, NULL, ".lock", NULL, 0},
    {"uv-tools", "UV_TOOL_DIR", NULL, NULL, ".lock", NULL, 0},
    {"pipx", "PIPX_HOME", ".local/share/pipx", "venvs shared py", NULL, NULL, 0},
    {"pipx-old", NULL, ".local/pipx", "venvs shared py", NULL, NULL, 0},
    {"poetry", "POETRY_HOME", ".local/share/pypoetry", "bin venv", NULL, NULL, 0},
    {"rye", "RYE_HOME", ".rye", "shims self py tools", NULL, NULL, 0},
    /* Programs that pip, pipx, uv and poetry put there start with what lies in these. */
    {"local", NULL, ".local/bin", NULL, NULL, "uv pipx pipx-old poetry pip", 0},
    {"pip", NULL, ".local/lib", NULL, NULL, NULL, 0},
    /* JavaScript. A .npmrc or etc/npmrc may hold tokens. */
    {"nvm", "NVM_DIR", ".nvm", NVM_PARTS, NULL, NULL, 0},
    {"nvm", NULL, ".config/nvm", NVM_PARTS, NULL, NULL, 0},
    {"fnm", "FNM_DIR", ".local/share/fnm", "node-versions aliases", NULL, NULL, 0},
    {"fnm", NULL, ".fnm", "node-versions aliases", NULL, NULL, 0},
    {"volta", "VOLTA_HOME", ".volta", "bin tools layout.v3 layout.v4", NULL, NULL, 0},
    {"nodenv", "NODENV_ROOT", ".nodenv", NULL, "versions", NULL, 0},
    {"npm", NULL, ".npm-global", "bin lib", NULL, NULL, 0},
    {"pnpm", "PNPM_HOME", ".local/share/pnpm", NULL, "global", NULL, 0},
    {"bun", "BUN_INSTALL", ".bun", "bin install/global", NULL, NULL, 0},
    {"deno", "DENO_INSTALL", ".deno", "bin", NULL, NULL, 0},
    /* Rust. credentials.toml and config.toml stay out; the proxies in bin need rustup. */
    {"cargo", "CARGO_HOME", ".cargo", "bin registry git env", NULL, "rustup", ROW_KNOWS_ITS_PLACE},
    {"rustup", "RUSTUP_HOME", ".rustup", NULL, "toolchains", NULL, ROW_KNOWS_ITS_PLACE},
    /* Go */
    {"go", "GOPATH", "go", "bin pkg/mod", NULL, NULL, ROW_KNOWS_ITS_PLACE},
    {"go-sdk", "GOROOT", "sdk/go*", NULL, "bin/go", NULL, 0},
    {"goenv", "GOENV_ROOT", ".goenv", NULL, "versions", NULL, 0},
    /* The JVM */
    {"sdkman", "SDKMAN_DIR", ".sdkman", "candidates", NULL, NULL, 0},
    {"jenv", "JENV_ROOT", ".jenv", NULL, "versions", NULL, 0},
    {"java", "JAVA_HOME", NULL, NULL, "bin/java", NULL, 0},
    /* Ruby, Perl, PHP */
    {"rbenv", "RBENV_ROOT", ".rbenv", NULL, "versions", NULL, 0},
    {"rvm", "rvm_path", ".rvm", NULL, "rubies", NULL, 0},
    {"gem", NULL, ".gem/ruby", NULL, NULL, NULL, 0},
    {"gem", NULL, ".local/share/gem/ruby", NULL, NULL, NULL, 0},
    {"plenv", "PLENV_ROOT", ".plenv", NULL, "versions", NULL, 0},
    {"perlbrew", "PERLBREW_ROOT", "perl5/perlbrew", NULL, "perls", NULL, 0},
    {"phpenv", "PHPENV_ROOT", ".phpenv", NULL, "versions", NULL, 0},
    /* Haskell, OCaml, Julia, Lean, .NET. Their own directories have keys and tokens too. */
    {"ghcup", NULL, ".ghcup", "bin ghc hls share env", NULL, NULL, 0},
    {"cabal", "CABAL_DIR", ".cabal", "bin store packages", NULL, NULL, 0},
    {"opam", "OPAM_SWITCH_PREFIX", ".opam/*", NULL, ".opam-switch", NULL, 0},
    {"juliaup", NULL, ".juliaup", NULL, NULL, "julia", 0},
    {"julia", NULL, ".julia", "bin juliaup packages artifacts registries environments", NULL, NULL,
     0},
    {"elan", "ELAN_HOME", ".elan", NULL, "toolchains", NULL, 0},
    {"dotnet", "DOTNET_ROOT", ".dotnet",
     "dotnet host sdk shared packs templates sdk-manifests tools ~/.nuget/packages", NULL, NULL, 0},
    /* Of every language. The file in home says which versions their shims start. */
    {"asdf", "ASDF_DATA_DIR", ".asdf", ". ~/.tool-versions", "installs", NULL, 0},
    {"asdf-program", "ASDF_DIR", NULL, NULL, "asdf.sh", NULL, 0},
    {"mise", "MISE_DATA_DIR", ".local/share/mise", ". ~/.tool-versions", "installs", NULL, 0},
    {"proto", "PROTO_HOME", ".proto", "bin shims tools", NULL, NULL, 0},
    {"nix", NULL, "/nix", "store var/nix/profiles", NULL, NULL, 0},
    {"nix-profile", NULL, ".nix-profile", NULL, NULL, "nix", 0},
    {"nix-profile", NULL, ".local/state/nix/profile", NULL, NULL, "nix", 0},
    {"brew", "HOMEBREW_PREFIX", "/home/linuxbrew/.linuxbrew", BREW_PARTS, NULL, NULL, 0},
    {"brew", NULL, ".linuxbrew", BREW_PARTS, NULL, NULL, 0},
};

#endif
