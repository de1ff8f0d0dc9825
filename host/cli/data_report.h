/* Output of `dcgan data`. */
#ifndef DG_DATA_REPORT_H
#define DG_DATA_REPORT_H

#include "host/data/dataset.h"

/* Print counts, sizes, skipped files, duplicates and advice. Returns the error that training would return. sheet: path
 * of the contact sheet, or NULL. classifier: model to train, with `classes` classes; NULL: a GAN. */
dg_err dg_data_report(const dg_dataset_options *o, const char *classifier, int classes, const char *sheet, bool json);

#endif
