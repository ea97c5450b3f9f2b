"""Words that are never the name of something defined in a file."""

from __future__ import annotations

from typing import Final

_KEYWORDS = """
    add after all alter and any apply array as asc atomic auto before begin between bigint binary bit blob boolean
    by call case cast catch char character check clob clustered collate column commit conflict constraint create
    cross cube current cursor date datetime datetime2 datetimeoffset decimal declare default delete deny desc
    distinct do domain double drop each else elseif elsif end enum escape except exception_init exec execute exists
    exit explain explicit fetch fillfactor filter float for foreign from full function geography geometry global go
    goto grant group grouping handler hash having identity if ignore image immediate in include index inner inout
    insert instead int integer intersect interval into is iterate join json jsonb key language lateral leave left
    like limit local loop matched materialized max mediumint merge min money national natural nchar next nocheck
    nonclustered not nowait ntext null number numeric nvarchar of off offset on only open option or order out outer
    output over overlay own partition partitions path percent perform pivot pls_integer pragma precision primary
    print proc procedure raise raiserror range raw read real record recursive references repeat replace return
    returning returns revoke right rollback rollup row rows rowset rowversion schema select sequence set setof sets
    show signal smalldatetime smallint smallmoney some sql start statement statistics stored sum table tablesample
    temp temporary text then throw time timestamp timestamptz tinyint tinytext to top tran transaction trigger
    truncate try type union unique uniqueidentifier unlogged unpivot until update use using values varbinary
    varchar varchar2 varying view waitfor when where while window with within work xml year zone
"""

_BUILT_IN = """
    abs acos adddate array_agg array_append array_length array_to_string ascii asin atan atan2 avg binary_checksum
    cast ceil ceiling changes char char_length charindex checksum choose coalesce col_length col_name columnproperty
    compress concat concat_ws convert cos cot count count_big crypt_gen_random cume_dist curdate current_date
    current_setting current_time current_timestamp current_user currval curtime database databaseproperty
    databasepropertyex datalength date date_add date_format date_part date_sub date_trunc dateadd datediff
    datefromparts datename datepart datetime datetimefromparts day db_id db_name decompress degrees dense_rank
    eomonth error_line error_message error_number error_procedure error_severity error_state exp extract
    fileproperty first_value floor format formatmessage found_rows from_unixtime gen_random_uuid generate_series
    getdate getutcdate glob greatest group_concat grouping_id has_dbaccess hashbytes hex host_name hour
    ident_current if ifnull iif index_col initcap insert instr is_member is_srvrolemember isdate isjson isnull
    isnumeric json_agg json_array json_build_object json_extract json_object json_query json_value
    jsonb_build_object julianday lag last_day last_insert_id last_insert_rowid last_value lcase lead least left len
    length likely ln localtimestamp locate log log10 lower lpad ltrim makedate max md5 microsecond min minute mod
    month nchar newid newsequentialid nextval now nth_value ntile nullif object_definition object_id object_name
    object_schema_name objectproperty objectpropertyex octet_length openjson openquery openrowset openxml
    original_login parse parsename patindex percent_rank pi position pow power print printf quotename radians rand
    random rank regexp_matches regexp_replace regexp_split_to_array replace replicate reverse right round row_count
    row_number row_to_json rpad rtrim schema_id schema_name scope_identity second serverproperty session_user setval
    sign sin soundex space split_part sql_variant_property sqrt square stats_date stddev stdev str str_to_date
    strftime string_agg string_escape string_split string_to_array strpos stuff subdate substr substring sum
    suser_id suser_name suser_sid suser_sname switchoffset sysdatetime sysdatetimeoffset system_user sysutcdatetime
    tan time time_format timediff timefromparts timestampadd timestampdiff to_char to_date to_number to_timestamp
    todatetimeoffset total translate trigger_nestlevel trim trunc try_cast try_convert try_parse type_id type_name
    typeof ucase unhex unicode unix_timestamp unnest updating upper user user_id user_name uuid values var variance
    varp week weekday xact_state zeroblob
"""
RESERVED: Final = frozenset(_KEYWORDS.split())
FUNCTIONS: Final = frozenset(_BUILT_IN.split())

XML_METHODS: Final = frozenset({"exist", "modify", "nodes", "query", "value"})
"""Of a column or a variable of T-SQL: `x.value('…', 'int')` calls no function of a schema `x`."""


def is_callable(parts: list[str]) -> bool:
    """Whether a name before a parenthesis may be a function that somebody defined."""
    name = parts[-1].lower()
    if name[:1] in ("@", "#", ""):
        return False
    if len(parts) > 1:
        return name not in XML_METHODS and parts[-2][:1] not in ("@", "#")
    return name not in RESERVED and name not in FUNCTIONS
