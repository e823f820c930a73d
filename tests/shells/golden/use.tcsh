setenv _CUDASWITCH_U '/srv/a store/toolkits/10.1.243+cudnn7.6.5:lib=always:gpus=0,2';
set _csw_do = settle; set _csw_texts = '<texts>'; source '<texts>'/core.csh;
