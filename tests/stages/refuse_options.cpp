// Refusals of words and values on command lines and in settings files.
#include <string>

#include "tests/stages/refusals.hpp"

namespace cosmo {

using core::Fault;

void refuse_words(const Made& made) {
  made.write("settings.ini", "omega-q = 3\n");
  made.write("flags.ini", "force = yes\n");
  for (const std::string tool :
       {"cosmo-sim generate ", "cosmo-prep shard ", "cosmo-train ", "cosmo-infer "}) {
    made.refuse({{tool + "--omega-q 3", Fault::usage, {"--omega-q"}},
                 {tool + "--config D/settings.ini", Fault::usage, {"omega-q", "D/settings.ini"}},
                 {tool + "--config D/flags.ini", Fault::usage, {"--force"}},
                 {tool + "--config D/absent.ini", Fault::io, {"D/absent.ini"}}});
  }
  made.write("binary.ini", std::string("\x7f"
                                       "ELF\0\x1b[31m",
                                       10));
  made.refuse({
      {"cosmo-sim simulate", Fault::usage, {"simulate", "generate"}},
      {"cosmo-prep", Fault::usage, {"command"}},
      {kGenerate + "--config D/", Fault::io, {"--config"}},
      {kGenerate + "--config D/binary.ini", Fault::usage, {"D/binary.ini", "not text"}},
      {kGenerate + "--seed 18446744073709551615",
       Fault::config,
       {"--seed is 18446744073709551615", "between 0 and 9007199254740991"}},
      {kGenerate + "--mesh 99999999999999999999", Fault::config, {"--mesh is", "between 4 and 8192"}},
      {kGenerate + "--omega-m 0.3:", Fault::usage, {"--omega-m is '0.3:'", "LOW:HIGH"}},
      {kGenerate + "--omega-m 0.1:0.2:0.3", Fault::usage, {"0.1:0.2:0.3", "LOW:HIGH"}},
      {"cosmo-sim generate --output bad\xff", Fault::usage, {"--output", "UTF-8"}},
      {"cosmo-sim generate", Fault::usage, {"--output"}},
      {"cosmo-train --output D/never", Fault::usage, {"--data"}},
      {"cosmo-infer --data D/data --output D/never", Fault::usage, {"--model"}},
      {"cosmo-infer --input D/sim/sim-00000/counts_z0.h5", Fault::usage, {"--model"}},
      {"cosmo-infer --model D/model", Fault::usage, {"--data", "--input"}},
  });
}

void refuse_values_of_universes(const Made& made) {
  made.refuse({
      {kGenerate + "--box wide", Fault::usage, {"--box"}},
      {kGenerate + "--seed 1.5", Fault::usage, {"--seed"}},
      {kGenerate + "--sigma8 0", Fault::config, {"sigma8"}},
      {kGenerate + "--box -5", Fault::config, {"--box"}},
      {kGenerate + "--mesh 3", Fault::config, {"--mesh is 3"}},
      {kGenerate + "--omega-m -0.1", Fault::config, {"omega_m is -0.1"}},
      {kGenerate + "--w0 -0.5 --wa 0.5", Fault::config, {"w0 is -0.5", "wa 0.5"}},
      {kGenerate + "--box 100kpc", Fault::usage, {"--box", "100kpc"}},
      {kGenerate + "--box 0Mpc",
       Fault::config,
       {"--box is 0 Mpc: choose a value between 1.42248 and 142248."}},
      {kGenerate + "--box 1.5Mpc --h 0.6:0.8 --simulations 20", Fault::config, {"--box is 1.5 Mpc"}},
      {kGenerate + "--simulations 4 --omega-m 0.01:0.3", Fault::config, {"omega_m"}},
  });
}

void refuse_cuts(const Made& made) {
  made.refuse({
      {kShard + "--subvolumes 3", Fault::config, {"--grid", "--subvolumes"}},
      {kShard + "--grid 48", Fault::config, {"--grid"}},
      {kShard + "--validation 4 --test 2", Fault::config, {"--validation"}},
  });
}

void refuse_values_of_trainings(const Made& made) {
  made.refuse({
      {kTrain32 + "--loss l3", Fault::usage, {"--loss", "mae or mse"}},
      {kTrain32 + "--micro-batch 0", Fault::config, {"--micro-batch"}},
      {kTrain32 + "--global-batch 50",
       Fault::config,
       {"--global-batch 50 exceeds the 32 training samples of D/data"}},
      {kTrain32 + "--dropout 0.5", Fault::config, {"--dropout 0.5", "no dropout layers"}},
      {kTrain + "--network mlperf --dropout 1", Fault::config, {"probability 1", "--dropout"}},
      {kTrain32 + "--momentum 0.5 --optimizer larc-adam", Fault::usage, {"--momentum", "--optimizer sgd"}},
      {kTrain32 + "--optimizer sgd --larc off", Fault::usage, {"--larc", "--optimizer larc-adam"}},
      {kTrain32 + "--optimizer sgd:1", Fault::config, {"momentum of --optimizer sgd", "below 1"}},
      {kTrain32 + "--optimizer sgd:fast", Fault::usage, {"--optimizer is 'sgd:fast': give a finite number"}},
      {kTrain32 + "--optimizer adamw:2", Fault::config, {"weight decay", "below 1"}},
      {kTrain32 + "--optimizer larc-adam:lars", Fault::config, {"larc-adam", "trust-ratio"}},
      {kTrain32 + "--loss mse:3", Fault::usage, {"only mixture takes a number"}},
      {kTrain32 + "--drops 3", Fault::usage, {"--drops", "EPOCH:FACTOR"}},
      {kTrain32 + "--decay-at 3", Fault::usage, {"1 epochs and 0 factors"}},
      {kTrain32 + "--drops 5:0.5,3:0.25", Fault::config, {"--drops"}},
      {kTrain32 + "--drops 1:0.5,1e300:0.25",
       Fault::config,
       {"--drops, 1, 1e+300, do not rise between 0 and 1000000"}},
      {kTrain32 + "--drops 1:0.5,1.1:0.25", Fault::config, {"--drops", "a step apart"}},
      {kTrain32 + "--drops 1:2", Fault::config, {"factor 2 of --drops is not above 0 and at most 1"}},
      {kTrain32 + "--average 0", Fault::config, {"--average", "above 0 and below 1, or off"}},
      {kTrain32 + "--learning-rate -1", Fault::config, {"--learning-rate -1 is not above 0: give"}},
      {kTrain32 + "--learning-rate 1e-4 --min-learning-rate 1e-3",
       Fault::config,
       {"--min-learning-rate 0.001 is not between 0 and the --learning-rate 0.0001"}},
      {kTrain32 + "--recipe paper --weight-decay 0.1",
       Fault::usage,
       {"--weight-decay applies only with --optimizer adamw", "larc-adam, that of --recipe paper",
        "leave it out, or give"}},
      {kTrain32 + "--recipe robust",
       Fault::config,
       {"--recipe robust", "D/data have the same", "--input A,B,C", "--mesh 64,128"}},
      {kTrain32 + "--smooth 1e6", Fault::config, {"--smooth 1000000", "a quarter of the box"}},
      {kTrain32 + "--optimizer sgd --weight-decay 0.1",
       Fault::usage,
       {"this training has sgd: leave it out"}},
      {kTrain + "--init-from D/model", Fault::usage, {"--init-from needs --network"}},
      {kTrain32 + "--convolution quick", Fault::usage, {"--convolution", "auto or direct or filtered"}},
      {kTrain32 + "--convolution filtered",
       Fault::config,
       {"cosmoflow32", "conv2 has stride 2", "--convolution filtered"}},
      {kTrain + "--network nosuchnet", Fault::usage, {"nosuchnet", "--network"}},
      {kTrain + "--network cosmoflow", Fault::config, {"conv"}},
      {"cosmo-infer --model D/model --data D/data --split exam --output D/never", Fault::usage, {"--split"}},
  });
  for (const std::string epochs : {"-1", "5.5", "99999999999", "1e+300"}) {
    made.refuse(kTrain32 + "--epochs 5 --warmup-epochs " + epochs, Fault::config,
                {"--warmup-epochs " + epochs + " is not between 0 and the 5 of --epochs"});
  }
  const int ranks = made.comm.size();
  made.refuse(kTrain32 + "--global-batch 8 --micro-batch 3", Fault::config,
              {fmt::format("--global-batch 8 is not a multiple of --micro-batch 3 × {} ranks", ranks)});
}

}  // namespace cosmo
