/* Not part of the program: prints the tables of the manual page while it is built. */
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"

const bool cli_judges = true;

int main(void)
{
    struct buf tables;
    buf_init(&tables, &allocator_libc, 1 << 20);
    int r = options_man_tables(cli_commands, &tables);
    if (r == 0)
        r = fd_write_all(STDOUT_FILENO, tables.data, tables.len);
    buf_release(&tables);
    return r < 0 ? 1 : 0;
}
