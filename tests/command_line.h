#pragma once

#include <stdio.h>
#include <string.h>

#include "host/options/options.h"

/* Parses the command line "dcgan LINE" into options, which are valid until the next call. */
static inline dg_err parse_line(const char *line, dg_options *o)
{
    static char copy[4096];
    enum { WORDS = 40 };
    static char name[] = "dcgan";
    static char *argv[WORDS + 1];
    char *rest = NULL;
    int argc = 0;
    argv[argc++] = name;
    bool done;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok_r(copy, " ", &rest); w && argc < WORDS; w = strtok_r(NULL, " ", &rest)) argv[argc++] = w;
    argv[argc] = NULL;
    return dg_options_parse(argc, argv, o, &done);
}
