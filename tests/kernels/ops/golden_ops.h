/* Made by tools/pytorch/golden_ops.py with PyTorch 2.15.0 in double; do not edit. */
#ifndef DG_GOLDEN_OPS_H
#define DG_GOLDEN_OPS_H

/* BatchNorm2d(2) in training mode, then LeakyReLU(0.2); the loss is the sum of y * weight. */
static const double golden_norm_x[16] = {0x1.b0ef060000000p+0,  0x1.1375b80000000p-1,  0x1.9ad4520000000p+0,
                                         0x1.77af2a0000000p-3,  0x1.1cc81a0000000p-2,  -0x1.1747740000000p-2,
                                         0x1.604d320000000p-2,  -0x1.5e229e0000000p-1, 0x1.2004880000000p-3,
                                         -0x1.1c3d500000000p-2, -0x1.0bc22a0000000p-1, -0x1.a9077a0000000p-3,
                                         0x1.d6cc220000000p-3,  -0x1.b9f1a00000000p-2, -0x1.c462100000000p-7,
                                         0x1.d0a16c0000000p+0};
static const double golden_norm_weight[16] = {-0x1.502a940000000p+0, 0x1.9c0eb40000000p-3,  -0x1.4fdf480000000p-2,
                                              0x1.2aac160000000p+1,  -0x1.5a27b80000000p+0, -0x1.a4fefe0000000p-4,
                                              0x1.cb8c2a0000000p+0,  -0x1.ff6fa80000000p-3, -0x1.aaf04c0000000p+0,
                                              0x1.04a1280000000p-1,  -0x1.9647c00000000p+0, 0x1.e2a6e20000000p-1,
                                              0x1.03dfac0000000p+1,  -0x1.39e61a0000000p+0, 0x1.51bdf40000000p-1,
                                              0x1.6739c20000000p-2};
static const double golden_norm_gamma[2] = {0x1.f87bee0000000p-1, 0x1.14200e0000000p+0};
static const double golden_norm_beta[2] = {0x1.83d1720000000p-4, -0x1.c86f700000000p-4};
static const double golden_norm_mean0[2] = {0x1.b0d7a00000000p+0, -0x1.ca26e20000000p-1};
static const double golden_norm_var0[2] = {0x1.6c28f80000000p-2, 0x1.3b7da20000000p+0};
static const double golden_norm_y[16] = {0x1.c0cd90378ad68p+0,  0x1.1970181a6cdb9p-1,  0x1.a2ced25cf7a1ep+0,
                                         0x1.1ba9a1357d213p-5,  -0x1.0d3caaf656c96p-5, -0x1.013d27295962bp-3,
                                         -0x1.ea8f67fab6f2dp-7, -0x1.f5db63c057ee8p-3, -0x1.1f70679d1a4eap-4,
                                         -0x1.041f02114c291p-3, -0x1.0047bc1bdcf5ep-2, -0x1.b4e3ef5a966c8p-4,
                                         -0x1.7874a181905a2p-5, -0x1.5fc1720f82b3bp-3, -0x1.cb1e99c695b7ap-4,
                                         0x1.33cae48dfe63ep+1};
static const double golden_norm_dx[16] = {-0x1.a808dd081e9adp-1, -0x1.8425f82728604p-2, 0x1.d8487f76b0ee0p-2,
                                          0x1.6b16ff1609190p+1,  -0x1.83a9fa655eafcp-3, -0x1.b8baa050dfdf7p-2,
                                          0x1.66f41e9a47dbbp-1,  -0x1.57d6041a38846p-2, -0x1.66d76b90ff759p-2,
                                          -0x1.010e21eaa3aa7p-2, -0x1.62ce121363e6bp-1, -0x1.3002208e4e330p-3,
                                          0x1.67873467f18e7p-1,  -0x1.684d90394440fp-1, 0x1.923642ff201c9p-3,
                                          -0x1.2d2b84bcda5ebp-1};
static const double golden_norm_dgamma[2] = {-0x1.2ced442457099p+1, 0x1.5da42b5130f18p+0};
static const double golden_norm_dbeta[2] = {-0x1.aa60413333334p+0, 0x1.6e143a1ccccccp+1};
static const double golden_norm_mean[2] = {0x1.91905fb066667p+0, -0x1.9817bc7333333p-1};
static const double golden_norm_var[2] = {0x1.8571ef951b0f0p-2, 0x1.2c12741bbe176p+0};

/* BCEWithLogitsLoss with targets 1 and 0, its gradients, and mean sigmoids. */
static const double golden_bce_logit[9] = {-0x1.6bab960000000p+3, 0x1.822a600000000p+2,  -0x1.0ad23c0000000p+2,
                                           0x1.5bfddc0000000p+2,  0x1.49721e0000000p-1,  0x1.d669a80000000p+1,
                                           0x1.fa55dc0000000p+0,  -0x1.507dcc0000000p+2, -0x1.41f3480000000p+3};
static const double golden_bce_prob[1] = {0x1.014f19b84b12cp-1};
static const double golden_bce_loss0[1] = {0x1.054a001116ca3p+1};
static const double golden_bce_dlogit0[9] = {0x1.59e9e87618efcp-20, 0x1.c605ecb3aac2fp-4,  0x1.bba1bcef5e5a0p-10,
                                             0x1.c523b8e3f22fap-4,  0x1.2a5716aa5bdeep-4,  0x1.bbdc51fed78e2p-4,
                                             0x1.8fcb5508dc615p-4,  0x1.2dc7cf38e47d8p-11, 0x1.3e7f250713648p-18};
static const double golden_bce_loss1[1] = {0x1.bf623774a5032p+1};
static const double golden_bce_dlogit1[9] = {-0x1.c71b17dd33fbbp-4,  -0x1.16851371aed55p-12, -0x1.c02dead35ef86p-4,
                                             -0x1.f8b8e32a422abp-12, -0x1.398ab6398125cp-5,  -0x1.6803f9089c755p-9,
                                             -0x1.ba88e5f200839p-7,  -0x1.c4c0e228aaa8cp-4,  -0x1.c71777ca88558p-4};

/* torch.optim.Adam(lr 2e-4, betas (0.5, 0.999), eps 1e-8): weights after each of three steps. */
static const double golden_adam_p0[5] = {-0x1.730a360000000p-1, 0x1.ed41fe0000000p-1, 0x1.12ec6e0000000p-3,
                                         0x1.18db4c0000000p-1, 0x1.1142e00000000p+1};
static const double golden_adam_g0[5] = {-0x1.c19f960000000p-1, -0x1.0a934e0000000p-2, 0x0.0p+0, -0x1.d059800000000p-15,
                                         0x1.0a1b580000000p+6};
static const double golden_adam_p1[5] = {-0x1.72efff1d19e5dp-1, 0x1.ed5c34e2da375p-1, 0x1.12ec6e0000000p-3,
                                         0x1.18f581ac9d7f6p-1, 0x1.113c5247453d3p+1};
static const double golden_adam_g1[5] = {-0x1.42957a0000000p+0, 0x1.a9889a0000000p-5, -0x0.0p+0, 0x1.6ce7660000000p-15,
                                         -0x1.2659c60000000p+6};
static const double golden_adam_p2[5] = {-0x1.72d4a80f3c93bp-1, 0x1.ed637d9e7dad4p-1, 0x1.12ec6e0000000p-3,
                                         0x1.18eff3e2863cep-1, 0x1.113ed53c05607p+1};
static const double golden_adam_g2[5] = {-0x1.a145b40000000p-1, -0x1.d2d6780000000p-4, -0x0.0p+0, 0x1.cfb7fc0000000p-14,
                                         -0x1.bbbd440000000p+5};
static const double golden_adam_p3[5] = {-0x1.72bbd135e2b39p-1, 0x1.ed713e62a7314p-1, 0x1.12ec6e0000000p-3,
                                         0x1.18d882c7f7e58p-1, 0x1.1143263e97b24p+1};

/* CrossEntropyLoss without and with label smoothing of 0.1, its gradients, and softmax. */
static const double golden_softmax_logit[20] = {-0x1.a2daca0000000p+1, -0x1.e91c520000000p-3, 0x1.8d7f320000000p+1,
                                                -0x1.1679a40000000p-1, -0x1.3b5f2e0000000p+1, 0x1.41d0960000000p+1,
                                                0x1.79b0680000000p+0,  -0x1.7c64680000000p-1, -0x1.d74d100000000p+0,
                                                0x1.c5aa540000000p+1,  -0x1.b492200000000p+2, -0x1.57b12e0000000p+0,
                                                0x1.85fd980000000p+1,  0x1.20ed1e0000000p+1,  -0x1.60b5a60000000p+1,
                                                0x1.e7cf700000000p+1,  -0x1.cddc300000000p+1, -0x1.6a93f80000000p+0,
                                                -0x1.4a7c700000000p-4, 0x1.16f8d60000000p+3};
static const double golden_softmax_label[4] = {0x1.8000000000000p+1, 0x0.0p+0, 0x1.0000000000000p+2,
                                               0x1.0000000000000p+0};
static const double golden_softmax_p[20] = {0x1.a17a8d9680c75p-10, 0x1.0ef618624a0a1p-5,  0x1.dfefe5fdad7bbp-1,
                                            0x1.8f6f401391bf9p-6,  0x1.d48134c6153dfp-9,  0x1.e6dd78714a836p-3,
                                            0x1.5892898a07653p-4,  0x1.2be607b37ac60p-7,  0x1.90154ce644b74p-9,
                                            0x1.54f6a346b842cp-1,  0x1.27aa395319710p-15, 0x1.14b2470ed15bbp-7,
                                            0x1.5c698eb5bf422p-1,  0x1.3c63433c10a0fp-2,  0x1.0d67e717db8c3p-9,
                                            0x1.e108602c64d2ap-8,  0x1.275582da67933p-18, 0x1.4a81bdb8063b5p-15,
                                            0x1.3a2e3eb60e7adp-13, 0x1.fc248eaa03884p-1};
static const double golden_softmax_loss[1] = {0x1.7abf0ef272d6fp+2};
static const double golden_softmax_dlogit[20] = {0x1.a17a8d9680c77p-12, 0x1.0ef618624a0a0p-7,  0x1.dfefe5fdad7bbp-3,
                                                 -0x1.f38485ff63720p-3, 0x1.d48134c6153e1p-11, -0x1.8648a1e3ad5f3p-3,
                                                 0x1.5892898a07654p-6,  0x1.2be607b37ac5ep-9,  0x1.90154ce644b71p-11,
                                                 0x1.54f6a346b842bp-3,  0x1.27aa395319712p-17, 0x1.14b2470ed15bdp-9,
                                                 0x1.5c698eb5bf422p-3,  0x1.3c63433c10a0fp-4,  -0x1.fef29818e8247p-3,
                                                 0x1.e108602c64d27p-10, -0x1.ffff6c553e92dp-3, 0x1.4a81bdb8063b8p-17,
                                                 0x1.3a2e3eb60e7b0p-15, 0x1.fc248eaa03884p-3};
static const double golden_softmax_loss_smooth[1] = {0x1.72a57a9c72d6fp+2};
static const double golden_softmax_dlogit_smooth[20] = {
    -0x1.2d966ba1793b4p-8, 0x1.ac7c38936598ap-9,  0x1.d5b27559d6717p-3,  -0x1.ca8ec37007491p-3, -0x1.0d1dede21e9ffp-8,
    -0x1.5d52df5451364p-3, 0x1.06a7046b4f135p-6,  -0x1.6376214247c98p-9, -0x1.15ab6ade18b0dp-8, 0x1.4ab932a2e1387p-3,
    -0x1.471a3f5e37bafp-8, -0x1.7aa9e1e6f1339p-9, 0x1.522c1e11e837ep-3,  0x1.27e861f4628c7p-4,  -0x1.d5fcd5898bfb8p-3,
    -0x1.9ed7f8df90262p-9, -0x1.d709a9c5e269ep-3, -0x1.4708d39c05449p-8, -0x1.4539b7fd752acp-8, 0x1.f1e71e062c7e0p-3};

/* Five steps of three optimisers: the weights after each step. Weight decay of 0.01 applies to the first three weights.
 */
static const double golden_update_p0[5] = {-0x1.192f500000000p-3, 0x1.bd95e00000000p-1, -0x1.c26b0e0000000p-1,
                                           -0x1.0bbf080000000p+0, -0x1.1b15d40000000p+0};
static const double golden_update_g[25] = {
    -0x1.79805c0000000p+0, -0x1.c301aa0000000p-9, 0x0.0p+0,  -0x1.da0ef00000000p-14, -0x1.c174c80000000p+5,
    -0x1.a62fb20000000p+0, -0x1.1120740000000p-2, 0x0.0p+0,  0x1.599f2c0000000p-14,  -0x1.da38400000000p+3,
    0x1.7f2ace0000000p-1,  -0x1.d203660000000p-5, 0x0.0p+0,  0x1.75800e0000000p-17,  0x1.1bdd5c0000000p+7,
    0x1.54f4b20000000p+0,  0x1.729b4c0000000p-5,  -0x0.0p+0, 0x1.10022a0000000p-13,  0x1.8ec3e80000000p+5,
    -0x1.ee60420000000p-2, 0x1.0b0f300000000p-3,  0x0.0p+0,  0x1.2df05c0000000p-18,  -0x1.bb0a940000000p+1};
static const double golden_update_sgd[25] = {
    -0x1.04165aac08312p-4, 0x1.bd7363f06f9dbp-1, -0x1.c23166b26e979p-1, -0x1.0bbea93036666p+0, 0x1.b40b6c0000001p+0,
    0x1.372ac5e0999e0p-6,  0x1.c40e624f29edap-1, -0x1.c1f7c6c60e065p-1, -0x1.0bbeee500c000p+0, 0x1.38ddc2ccccccdp+1,
    -0x1.2e0e580bac179p-6, 0x1.c54954d9cfec6p-1, -0x1.c1be2e39ec7b5p-1, -0x1.0bbef7a672c00p+0, -0x1.29c0183333334p+2,
    -0x1.5c3dad2b1bcd3p-4, 0x1.c3e6d352a9cdbp-1, -0x1.c1849d0d18447p-1, -0x1.0bbf64741d266p+0, -0x1.c941a83333334p+2,
    -0x1.f262199e9f415p-5, 0x1.c0566468c4163p-1, -0x1.c14b133e9fceap-1, -0x1.0bbf683a51800p+0, -0x1.be2e314cccccep+2};
static const double golden_update_momentum[25] = {
    -0x1.04165aac08312p-4, 0x1.bd7363f06f9dbp-1, -0x1.c23166b26e979p-1, -0x1.0bbea93036666p+0, 0x1.b40b6c0000001p+0,
    0x1.5dd88976ebd4fp-4,  0x1.c3ef590df4c85p-1, -0x1.c1c3e366a4c1fp-1, -0x1.0bbe98fb7028fp+0, 0x1.3e3cc30000000p+2,
    0x1.74ac04b826de1p-3,  0x1.cb0045c5c3ef2p-1, -0x1.c127c1ba931ecp-1, -0x1.0bbe93bbf14b4p+0, 0x1.a2dc04ccccccbp-1,
    0x1.9e13d0317f72dp-3,  0x1.cff9113bfda1fp-1, -0x1.c061bf1a5f13bp-1, -0x1.0bbefbd076508p+0, -0x1.5a70cb28f5c29p+2,
    0x1.f492a70828115p-3,  0x1.d0e09aaf739c4p-1, -0x1.bf7624f6d8e50p-1, -0x1.0bbf5d42bbfbap+0, -0x1.5b24329f3b646p+3};
static const double golden_update_nesterov[25] = {
    0x1.7eefaa57a7878p-9, 0x1.bd545aaf3a787p-1, -0x1.c1fd835305532p-1, -0x1.0bbe53db9a8f6p+0, 0x1.0ed0bc999999ap+2,
    0x1.c1437cdbeebafp-3, 0x1.c9c556ce69090p-1, -0x1.c1616040f3439p-1, -0x1.0bbe8a658a8b4p+0, 0x1.fa8a7a3333334p+2,
    0x1.1319be8cce8cap-2, 0x1.d15aed7225437p-1, -0x1.c09b66fb2546dp-1, -0x1.0bbe8f02cbea2p+0, -0x1.75de7651eb853p+1,
    0x1.c2916984ab8ccp-3, 0x1.d46f10f942e7ap-1, -0x1.bfafe4afcc68fp-1, -0x1.0bbf597c87a21p+0, -0x1.60adee126e979p+3,
    0x1.20b258055bdabp-2, 0x1.d1ab316da99b0p-1, -0x1.bea2bcbdfae55p-1, -0x1.0bbfb4f66115bp+0, -0x1.f7ab9e5c1bda6p+3};
static const double golden_update_adagrad[25] = {
    -0x1.6b342bcadc1bep-4, 0x1.bd34593d04958p-1, -0x1.c1c8094dd620ap-1, -0x1.0bbdfbd5057a4p+0, -0x1.0e4917cf49d85p+0,
    -0x1.a8f13fff8f023p-5, 0x1.cc4b85a78f6fep-1, -0x1.c1254c758a478p-1, -0x1.0bbebf5865396p+0, -0x1.0b055bda91d69p+0,
    -0x1.1546ffe59f1b3p-4, 0x1.cf145c53d109fp-1, -0x1.c082d747810a7p-1, -0x1.0bbed9c1788f7p+0, -0x1.16dde15e09212p+0,
    -0x1.79c9106cab50fp-4, 0x1.cbf283c0b6ce4p-1, -0x1.bfe0a99452deep-1, -0x1.0bc00d7f85d57p+0, -0x1.1ad2ba7f2af48p+0,
    -0x1.55d4bda86e49cp-4, 0x1.c4464ef208bcdp-1, -0x1.bf3ec32ccbc7bp-1, -0x1.0bc0182c5c838p+0, -0x1.1a8c69b87690ap+0};
static const double golden_update_adadelta[25] = {
    -0x1.18dc6a5cd0f46p-3, 0x1.bd841c9739064p-1, -0x1.c2578d577255ap-1, -0x1.0bbea93fb35e3p+0, -0x1.1b0b774a0b651p+0,
    -0x1.1883048d9634cp-3, 0x1.bd9f66599a3d2p-1, -0x1.c2439394f00ffp-1, -0x1.0bbeee5aa6b74p+0, -0x1.1b078a55e51e1p+0,
    -0x1.18b49dd95afc0p-3, 0x1.bda6c5d1d9403p-1, -0x1.c22f45d271d1cp-1, -0x1.0bbef7b140fa3p+0, -0x1.1b156f1136f48p+0,
    -0x1.1904e646aa0f4p-3, 0x1.bd9e6e77306ccp-1, -0x1.c21ab6b3444d8p-1, -0x1.0bbf6469d5e57p+0, -0x1.1b1c010fba204p+0,
    -0x1.18e38db2670cep-3, 0x1.bd8b3856df742p-1, -0x1.c205f15e07b35p-1, -0x1.0bbf683030a5bp+0, -0x1.1b1b83e2e27bap+0};

/* GAN losses and their gradients with respect to the logits. Table `golden` of rows_loss.h names each loss. */
static const double golden_gan_logit[9] = {0x1.7a9df40000000p+2,  -0x1.30c3900000000p-2, 0x1.65ea1c0000000p+1,
                                           0x1.59915a0000000p+0,  -0x1.b540100000000p+0, 0x1.6fffc00000000p-1,
                                           -0x1.acaf0a0000000p+0, 0x1.b8887a0000000p-3,  -0x1.50a9240000000p+1};
static const double golden_gan_other[9] = {-0x1.803dee0000000p+1, -0x1.7a6b360000000p-2, 0x1.3febd00000000p+0,
                                           -0x1.2e97040000000p+1, -0x1.5b4ba80000000p-2, 0x1.1467820000000p+0,
                                           -0x1.66e1ee0000000p+1, 0x1.bad1940000000p-4,  0x1.5cbfa20000000p+0};
static const double golden_gan_dlogit0[9] = {0x1.17a8d8e38e38ep-1,  -0x1.2747e71c71c71p-3, 0x1.98bca38e38e38p-3,
                                             0x1.3e76955555555p-5,  -0x1.341c78e38e38ep-2, -0x1.000071c71c71cp-5,
                                             -0x1.304dcb8e38e39p-2, -0x1.6537015555555p-4, -0x1.9d08200000000p-2};
static const double golden_gan_loss0[1] = {0x1.994db8bef6400p+1};
static const double golden_gan_dlogit1[9] = {0x1.508c671c71c71p-1,  -0x1.0ee6b8e38e38ep-5, 0x1.3e256e38e38e3p-2,
                                             0x1.332bde38e38e3p-3,  -0x1.84aab8e38e38ep-3, 0x1.471c38e38e38ep-4,
                                             -0x1.7d0d5e38e38e3p-3, 0x1.8795c1c71c71cp-6,  -0x1.2b41038e38e39p-2};
static const double golden_gan_loss1[1] = {0x1.9bf10eb44b955p+1};
static const double golden_gan_dlogit2[9] = {-0x0.0p+0,
                                             -0x1.c71c71c71c71cp-4,
                                             -0x0.0p+0,
                                             -0x0.0p+0,
                                             -0x1.c71c71c71c71cp-4,
                                             -0x1.c71c71c71c71cp-4,
                                             -0x1.c71c71c71c71cp-4,
                                             -0x1.c71c71c71c71cp-4,
                                             -0x1.c71c71c71c71cp-4};
static const double golden_gan_loss2[1] = {0x1.439909a38e38ep+0};
static const double golden_gan_dlogit3[9] = {0x1.c71c71c71c71cp-4,
                                             0x1.c71c71c71c71cp-4,
                                             0x1.c71c71c71c71cp-4,
                                             0x1.c71c71c71c71cp-4,
                                             0x0.0p+0,
                                             0x1.c71c71c71c71cp-4,
                                             0x0.0p+0,
                                             0x1.c71c71c71c71cp-4,
                                             0x0.0p+0};
static const double golden_gan_loss3[1] = {0x1.daf89a5c71c72p+0};
static const double golden_gan_dlogit4[9] = {-0x1.c71c71c71c71cp-4, -0x1.c71c71c71c71cp-4, -0x1.c71c71c71c71cp-4,
                                             -0x1.c71c71c71c71cp-4, -0x1.c71c71c71c71cp-4, -0x1.c71c71c71c71cp-4,
                                             -0x1.c71c71c71c71cp-4, -0x1.c71c71c71c71cp-4, -0x1.c71c71c71c71cp-4};
static const double golden_gan_loss4[1] = {-0x1.0a8d57d555555p-1};
static const double golden_gan_dlogit5[9] = {0x1.3c9723f1c71c7p-1,  -0x1.271d75c71c71dp-4, 0x1.163ae7e38e38dp-2,
                                             0x1.c6ada31c71c6fp-4,  -0x1.d47fc58e38e39p-3, 0x1.4ee43f1c71c6ep-5,
                                             -0x1.cce26ae38e38fp-3, -0x1.ee25471c71c7cp-7, -0x1.532b89e38e38fp-2};
static const double golden_gan_dlogit6[9] = {0x1.1012ae6aaaaaap+0, 0x1.7d55145555554p-2, 0x1.6eabacd555554p-1,
                                             0x1.1c63ed471c71cp-1, 0x1.b9b91dfffffffp-3, 0x1.f0f8f9aaaaaaap-2,
                                             0x1.c15678aaaaaa9p-3, 0x1.b7ab478e38e38p-2, 0x1.cfc39f8e38e36p-4};
static const double golden_gan_dlogit7[9] = {0x1.3c9723f1c71c7p-1,  -0x1.271d75c71c71dp-4, 0x1.163ae7e38e38dp-2,
                                             0x1.c6ada31c71c6fp-4,  -0x1.d47fc58e38e39p-3, 0x1.4ee43f1c71c6ep-5,
                                             -0x1.cce26ae38e38fp-3, -0x1.ee25471c71c7cp-7, -0x1.532b89e38e38fp-2};
static const double golden_gan_loss7[1] = {0x1.1ca9bedf63785p+2};
static const double golden_gan_dlogit8[9] = {-0x1.f37765cbc630cp-17, -0x1.b6c01b209eb0fp-5, -0x1.3fa6f4bb09b0ap-6,
                                             -0x1.5aa7959d4b0c9p-9,  -0x1.6acfec346cd46p-4, -0x1.0c2f2753fb590p-4,
                                             -0x1.bcbe14053905bp-6,  -0x1.aec9878bdca77p-5, -0x1.bedd53ff02840p-4};
static const double golden_gan_loss8[1] = {0x1.d7bf19a6770f5p-1};
static const double golden_gan_dlogit9[9] = {0x1.c70cd60bee139p-4, 0x1.d778c86d9a32ap-5, 0x1.7732b4985a05ap-4,
                                             0x1.bc47351a32196p-4, 0x1.7132164abe75bp-6, 0x1.75da94e642319p-5,
                                             0x1.57ececc5ce306p-4, 0x1.df6f5c025c3c1p-5, 0x1.07e3b9033db75p-9};

/* torch.nn.utils.spectral_norm of a Linear(5, 3): its weights, u and v before and after a training pass, the normalised
 * weights, and the gradient of the sum of y * weight. */
static const double golden_spectral_w[15] = {0x1.3ea7ae0000000p+0, -0x1.14681c0000000p-3, 0x1.3276040000000p+0,
                                             0x1.6f89b00000000p+0, 0x1.5b0a880000000p-2,  -0x1.c0eb2c0000000p-2,
                                             0x1.3279c20000000p+0, 0x1.46e8ba0000000p-1,  0x1.b995200000000p-2,
                                             0x1.13750a0000000p+1, 0x1.1054f40000000p-1,  -0x1.3051820000000p+0,
                                             0x1.9a30900000000p-3, 0x1.e813040000000p+0,  -0x1.a1cd660000000p-1};
static const double golden_spectral_u0[3] = {-0x1.298c9c0000000p-1, 0x1.dfa0ca0000000p-4, 0x1.9c53da0000000p-1};
static const double golden_spectral_dwn[15] = {-0x1.e03afea86d4e7p+0, -0x1.e78c146e27510p-3, 0x1.599170d7b174cp+1,
                                               0x1.98e6ce9111c08p-2,  -0x1.8a9fb35ee5551p+0, -0x1.59796bcb9797cp+0,
                                               0x1.2fd44ea74f65cp+2,  0x1.7236a9da0824cp+1,  -0x1.42125a03dd030p+1,
                                               -0x1.8c492b90ec9e0p-1, -0x1.772fd301016e0p+0, 0x1.0f8c9b3461bc8p+2,
                                               0x1.034a4170eb658p+1,  -0x1.ef0bb26a47630p+1, 0x1.296a9af5bbd80p-1};
static const double golden_spectral_u[3] = {-0x1.13fdb7ede8d41p-9, -0x1.3d98cccf77ca5p-1, 0x1.919735da8d839p-1};
static const double golden_spectral_v[5] = {-0x1.080cb1b63d290p-2, -0x1.1992a1d152633p-1, -0x1.5e66c7b93e1f0p-2,
                                            0x1.1e75b20edd8e5p-1, -0x1.cb061e461f274p-2};
static const double golden_spectral_wn[15] = {0x1.09d0f8b05a6e0p-1, -0x1.cd25a1f62de30p-5, 0x1.ff49decec1619p-2,
                                              0x1.3297eec5ac132p-1, 0x1.217ed951f10a0p-3,  -0x1.767ada344f40ep-3,
                                              0x1.ff501d19bc92bp-2, 0x1.10b3a326d818dp-2,  0x1.705c3822e8514p-3,
                                              0x1.cb901a54dab17p-1, 0x1.c65944a41b925p-3,  -0x1.fbb6c271d1bcbp-2,
                                              0x1.562c43428a311p-4, 0x1.9724903784ec7p-1,  -0x1.5c85f26036d38p-2};
static const double golden_spectral_dw[15] = {-0x1.9043e77894ad3p-1, -0x1.90ff70ea2dca1p-4, 0x1.207d161c3fb20p+0,
                                              0x1.52323b2e9d172p-3,  -0x1.489b591ec53edp-1, -0x1.7b5be88d89f07p-2,
                                              0x1.31f8df360c13bp+1,  0x1.763008979b5c8p+0,  -0x1.778934aab4644p+0,
                                              0x1.7d7d0efaff8a0p-7,  -0x1.b58911ea130edp-1, 0x1.4037266ef1feep+0,
                                              0x1.0b4b34c05c5c5p-1,  -0x1.15d346b7e3dc0p+0, -0x1.71f365f6c8238p-3};

#endif
