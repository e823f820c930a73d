setenv _CUDASWITCH_U 'system';
set _csw_do = settle; set _csw_texts = '<texts>'; source '<texts>'/core.csh;
