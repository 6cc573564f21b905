/*
 * Runs as text for people and programs. What comes from commands is made safe to look at
 * (base/escape), but in JSON and asciicast, which escape by their own rules.
 *
 * All return what buf_append does.
 */
#ifndef NACRE_HISTORY_FORMAT_H
#define NACRE_HISTORY_FORMAT_H

#include "base/json.h"
#include "history/history.h"

struct format_style {
    bool colour;
    bool ascii_only; /* the terminal may not speak UTF-8 */
    unsigned width;  /* lines of a list are cut to it; 0: not at all */
};

/* One line, or what stands for one. */
int format_row_text(const struct history_row *row, const struct format_style *style,
                    struct buf *out);
int format_row_markdown(const struct history_row *row, struct buf *out);
int format_row_org(const struct history_row *row, struct buf *out);
void format_row_json(const struct history_row *row, struct json *j);

/* What stands above the rows of a list in markdown. */
int format_head_markdown(struct buf *out);

/* One run in full. */
int format_run_text(const struct history_run *run, const struct format_style *style,
                    struct buf *out);
int format_run_json(const struct history_run *run, struct buf *out);
int format_run_markdown(const struct history_run *run, struct buf *out);
int format_run_org(const struct history_run *run, struct buf *out);
int format_run_asciicast(const struct history_run *run, struct buf *out);

/* Figures in Prometheus' text format. */
int format_figures_prometheus(const struct history_figures *figures, struct buf *out);

/* --- pieces ---------------------------------------------------------------------------------- */

/* The bytes made safe; a newline becomes `\n` where the text must stay on one line. */
int format_safe(struct buf *out, const char *bytes, size_t len, bool one_line, bool ascii_only);

/* Local time, "2026-01-02 03:04:05". */
enum { FORMAT_TIME = 32 };
void format_time(int64_t utc_ms, char ret[FORMAT_TIME]);

/* "12 ms", "1.5 s", "-". */
void format_duration(bool known, uint64_t ms, char ret[FORMAT_TIME]);

/* All of one stream of the frames, as it was printed; `ret_left_out`: not all of it is there. */
int format_stream(const struct history_run *run, int stream, struct buf *out, bool *ret_left_out);

/* "3 created, 1 deleted"; "none". */
int format_change_counts(const struct entry_changes *changes, struct buf *out);

#endif
