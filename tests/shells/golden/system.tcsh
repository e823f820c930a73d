setenv _CUDASWITCH_U 'system';
set _csw_do = settle; set _csw_texts = '/work/main/cudaswitch/shells'; source '/work/main/cudaswitch/shells'/core.csh;
