set _cudaswitch_root = '/home/o'\''neill/a $store';
set _cudaswitch_store = '/home/o'\''neill/a $store';
set _cudaswitch_program = '/opt/a "program"/cudaswitch';
set _cudaswitch_texts = '<texts>';
set _cudaswitch_shipped = '<texts>';
set _cudaswitch_seen = '';
<init.csh>
