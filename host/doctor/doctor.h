/* Detects problems of GAN training by rules for the log and for sample grids (docs/guide/doctor.md). */
#pragma once

#include "host/net/job.h"
#include "host/rundir/log_text.h"

enum {
    DG_DOCTOR_WINDOW = 250,
    DG_DOCTOR_WARM_UP = 500, /* grids before this step are ignored, because noise of untrained generators is diverse */
    DG_DOCTOR_TOLD = 3       /* max number of findings per rule that are reported one by one */
};

/* Input of the rules: values of a window of the log, the newest sample grid and the newest metrics. A window has
 * DG_DOCTOR_WINDOW steps. */
typedef struct {
    uint64_t step, epoch;
    double d_x, d_gz, loss_d, most_loss_d; /* means of D(x), D(G(z)) and the loss of D; max loss of D */
    double most_loss, mean_loss;           /* max loss of D or G; mean loss of D or G, whichever is larger */
    double swing;                          /* standard deviation of D(x) - D(G(z)) */
    double loss_d_before;                  /* mean loss of D in the previous window, or NaN */
    double guess;                          /* loss of D if D has the same output for all images */
    long rows;
    uint64_t span;                           /* number of steps from the first to the last log row of the window */
    double diversity, best_diversity;        /* diversity of sample grids relative to real images, or NaN */
    double settled_diversity;                /* best diversity since step DG_DOCTOR_WARM_UP, or NaN */
    double coverage, best_coverage, nearest; /* NaN without --eval-every */
    double recall;
} dg_vitals;

typedef struct {
    const char *name;
    bool (*needs)(const dg_vitals *v);   /* a finding begins only if this function returns true */
    const char *when;                    /* the condition `needs` in words, for docs/guide/doctor.md */
    double (*value)(const dg_vitals *v); /* measured value; NaN leaves findings unchanged */
    bool below; /* true: findings begin below `begins` and end above `ends`; false: the reverse */
    double begins, ends;
    int windows;
    bool at_end;                       /* the rule is checked once, at the end of the run */
    bool collapse;                     /* with --stop-on-collapse, a finding of this rule ends training */
    const char *says, *ended, *advice; /* `says` is a printf format for the finding's worst value */
} dg_doctor_rule;

extern const dg_doctor_rule dg_doctor_rules[];
enum { DG_DOCTOR_RULES = 9 };

typedef struct {
    const dg_doctor_rule *rule;
    uint64_t epoch, step;
    uint64_t end_epoch, end_step; /* both are 0 while the finding has not ended */
    double worst;
    int repeats;  /* number of repeated findings that this entry counts, or 0 for a single finding */
    bool summary; /* true for a summary of all repeated findings at the end of the run */
} dg_finding;

typedef struct {
    uint64_t epoch;
    double diversity;
} dg_grid_seen;

enum { DG_FINDINGS = DG_DOCTOR_RULES * (DG_DOCTOR_TOLD + 1) };

typedef struct {
    dg_finding finding[DG_FINDINGS];
    int findings;
    dg_vitals now;
    struct { /* sums over the current window of the log */
        long rows;
        uint64_t number, first;
        double d_x, d_gz, loss_d, loss_g, margin, margin_squares;
    } sum;
    uint64_t number_before; /* index of the previous window, plus 1 */
    int in_a_row[DG_DOCTOR_RULES], times[DG_DOCTOR_RULES];
    /* index of each rule's unfinished finding and of its entry that counts repeats, plus 1; 0 if none */
    int open[DG_DOCTOR_RULES], repeated[DG_DOCTOR_RULES];
} dg_doctor;

/* True if the rules support this kind of training. */
bool dg_doctor_knows(const dg_recipe *r);

/* Call dg_doctor_row and dg_doctor_grid in the order of the log rows and sample grids of the run. Each finding that
 * begins or ends is passed to `news`. */
typedef void dg_doctor_news(void *context, const dg_finding *f);
void dg_doctor_row(dg_doctor *d, const dg_log_row *row, dg_doctor_news *news, void *context);
void dg_doctor_grid(dg_doctor *d, const dg_grid_seen *grid);
/* Check the last window. If the run is finished, also check the rules with at_end. */
void dg_doctor_end(dg_doctor *d, bool finished, dg_doctor_news *news, void *context);
/* Call `news` with a summary of the repeated findings of each rule. */
void dg_doctor_sum_up(const dg_doctor *d, dg_doctor_news *news, void *context);

/* Pass all log rows and sample grids of a run to the rules, without calling dg_doctor_end. */
void dg_doctor_replay(dg_doctor *d, dg_loss loss, const dg_log_row *row, long rows, const dg_grid_seen *grid,
                      int grids);
int dg_doctor_examine(dg_doctor *d, dg_loss loss, bool finished, const dg_log_row *row, long rows,
                      const dg_grid_seen *grid, int grids);

char *dg_finding_text(const dg_finding *f, char *out, size_t size);
/* Write the line that a run prints for a finding. Returns false if the run must not print the finding. */
bool dg_finding_note(const dg_finding *f, char *out, size_t size);
