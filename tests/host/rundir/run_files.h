/* Makes the files of a run directory "run", for tests of its history of checkpoints. */
#pragma once

#include "host/rundir/history.h"
#include "tempdir.h"
#include "test.h"

static dg_rundir r;

static const char *in_run(const char *name) { return temp_path(temp_text("run/%s", name)); }

static void put(const char *name, const char *text)
{
    unlink(in_run(name)); /* a new file, so that hard links to the old file keep its content */
    temp_put(in_run(name), text, strlen(text));
}

static bool holds(const char *name, const char *want) { return temp_holds(in_run(name), want); }

static void begin(void)
{
    temp_remove(temp_path("run"));
    if (!DG_WORKS(dg_rundir_open(temp_path("run"), false, &r))) exit(1);
}

static const char *const files[][2] = {{"checkpoint.safetensors", "within seven"},
                                       {"checkpoint-0004.safetensors", "four"},
                                       {"checkpoint-0005.safetensors", "five"},
                                       {"checkpoint-0006.safetensors", "six"},
                                       {"epoch-0004.png", "image 4"},
                                       {"epoch-0006.png", "image 6"},
                                       {"log.csv", "rows"},
                                       {"log.jsonl", "objects"},
                                       {"config.ini", "[run]"},
                                       {"notes.txt", "mine"}};
enum { FILES_OF_RUN = sizeof files / sizeof *files };

__attribute__((unused)) static void make_run(void)
{
    begin();
    for (int i = 0; i < FILES_OF_RUN; i++) put(files[i][0], files[i][1]);
}

/* Checks that the run was rewound to epoch 4 and that its later files are in the directory `later`. */
__attribute__((unused)) static void went_back(const char *later)
{
    for (int i = 0; i < FILES_OF_RUN; i++) {
        const bool of_four = strstr(files[i][0], "0004") || !strcmp(files[i][0], "notes.txt");
        const bool kept = of_four || strstr(files[i][0], "log.") || strstr(files[i][0], "config");
        if (!of_four) DG_CHECK(holds(temp_text("%s/%s", later, files[i][0]), files[i][1]));
        DG_CHECK(holds(files[i][0], kept ? files[i][1] : i ? NULL : "four"));
    }
}
