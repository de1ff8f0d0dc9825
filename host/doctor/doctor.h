/* Detects problems of GAN training by rules for the log and the grids. A finding has a start, an end, and advice.
 * docs/guide/doctor.md explains each rule. */
#ifndef DG_DOCTOR_H
#define DG_DOCTOR_H

#include "host/net/job.h"
#include "host/rundir/log_text.h"

enum {
    DG_DOCTOR_WINDOW = 250,
    DG_DOCTOR_WARM_UP = 500, /* grids before this step are ignored, because early noise is diverse */
    DG_DOCTOR_TOLD = 3       /* number of findings of a rule that are reported one by one */
};

/* Input of the rules: a window of the log, the newest grid, the newest metrics. */
typedef struct {
    uint64_t step, epoch;
    double d_x, d_gz, loss_d, most_loss_d; /* means; most_loss_d is a maximum; d_gz is measured before D's update */
    double most_loss, mean_loss;           /* maximum and mean of max(loss of D, loss of G) */
    double swing;                          /* standard deviation of D(x) - D(G(z)) */
    double loss_d_before;                  /* mean of loss_d in the previous window; NaN: no such window */
    double guess;                          /* loss of a D whose output is constant */
    long rows;
    uint64_t span;                           /* number of steps from the window's first to its last row */
    double diversity, best_diversity;        /* diversity of the grid relative to real images; NaN: no grid */
    double settled_diversity;                /* best diversity since DG_DOCTOR_WARM_UP; NaN: no grid */
    double coverage, best_coverage, nearest; /* NaN without --eval-every */
    double recall;
} dg_vitals;

typedef struct {
    const char *name;
    bool (*needs)(const dg_vitals *v);   /* precondition of a new finding */
    const char *when;                    /* the condition `needs` as text, for docs/guide/doctor.md */
    double (*value)(const dg_vitals *v); /* NaN: unknown; no finding begins or ends */
    bool below; /* a finding begins if value < `begins` and ends if value > `ends`; false: begins if >, ends if < */
    double begins, ends;
    int windows;
    bool at_end;                       /* the rule is checked once, at the end of the run */
    bool collapse;                     /* with --stop-on-collapse, a finding of this rule ends the run */
    const char *says, *ended, *advice; /* `says` is a printf format for the finding's worst value */
} dg_doctor_rule;

extern const dg_doctor_rule dg_doctor_rules[];
enum { DG_DOCTOR_RULES = 9 };

typedef struct {
    const dg_doctor_rule *rule;
    uint64_t epoch, step;
    uint64_t end_epoch, end_step; /* 0: not ended */
    double worst;
    int repeats;  /* number of repeats (findings after DG_DOCTOR_TOLD) counted here; 0: a single finding */
    bool summary; /* true for a summary of repeated findings at the end of the run */
} dg_finding;

/* Diversity of an epoch's grid, relative to real images (diversity.h). */
typedef struct {
    uint64_t epoch;
    double diversity;
} dg_grid_seen;

enum { DG_FINDINGS = DG_DOCTOR_RULES * (DG_DOCTOR_TOLD + 1) };

typedef struct {
    dg_finding finding[DG_FINDINGS];
    int findings;
    dg_vitals now;
    struct { /* of the current window */
        long rows;
        uint64_t number, first;
        double d_x, d_gz, loss_d, loss_g, margin, margin_squares;
    } sum;
    uint64_t number_before; /* 1 + number of the window before the current window */
    int in_a_row[DG_DOCTOR_RULES], times[DG_DOCTOR_RULES];
    /* per rule, 1 + index of the current finding (open) and of the finding that counts repeats (repeated); 0: none */
    int open[DG_DOCTOR_RULES], repeated[DG_DOCTOR_RULES];
} dg_doctor;

/* True if the rules support the recipe. */
bool dg_doctor_knows(const dg_recipe *r);

/* Pass rows and grids in the order of the run. `news` is called for each finding that begins or ends. */
typedef void dg_doctor_news(void *context, const dg_finding *f);
void dg_doctor_row(dg_doctor *d, const dg_log_row *row, dg_doctor_news *news, void *context);
void dg_doctor_grid(dg_doctor *d, const dg_grid_seen *grid);
/* Call after the last row. Checks the last window and, for a finished run, the rules with at_end. */
void dg_doctor_end(dg_doctor *d, bool finished, dg_doctor_news *news, void *context);
/* Call news with a summary of each rule's repeated findings. */
void dg_doctor_sum_up(const dg_doctor *d, dg_doctor_news *news, void *context);

/* Pass a log and its grids to the rules, without dg_doctor_end. */
void dg_doctor_replay(dg_doctor *d, dg_loss loss, const dg_log_row *row, long rows, const dg_grid_seen *grid,
                      int grids);
/* Calls dg_doctor_replay and dg_doctor_end; returns d->findings. */
int dg_doctor_examine(dg_doctor *d, dg_loss loss, bool finished, const dg_log_row *row, long rows,
                      const dg_grid_seen *grid, int grids);

/* Write the text for the start of a finding, for its end, or for repeats with their number. */
char *dg_finding_text(const dg_finding *f, char *out, size_t size);
/* Write the line that a run prints for a finding of its doctor. Returns false if the run prints nothing, because the
 * rule's repeats are only counted. */
bool dg_finding_note(const dg_finding *f, char *out, size_t size);

#endif
