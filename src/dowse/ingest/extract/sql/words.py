"""Words that are never the name of something defined in a file."""

from __future__ import annotations

from typing import Final

_KEYWORDS = """
    add after all alter and any apply as asc atomic before begin between bigint binary bit blob boolean by call case
    cast catch char character check clob clustered collate column commit conflict constraint create cross cube
    current cursor date datetime datetime2 datetimeoffset decimal declare default delete deny desc distinct do
    domain double drop each else elseif elsif end enum escape except exec execute exists exit explain fetch
    fillfactor filter float for foreign from full function geography geometry global go goto grant group grouping
    handler hash having identity if ignore image immediate in include index inner inout insert instead int integer
    intersect interval into is iterate join json jsonb key language lateral leave left like limit local loop matched
    materialized max mediumint merge min money national natural nchar next nocheck nonclustered not ntext null
    numeric nvarchar of off offset on only open option or order out outer output over overlay own partition
    partitions percent perform pivot precision primary print proc procedure raise raiserror range read real
    recursive references repeat replace return returning returns revoke right rollback rollup row rows rowset
    rowversion schema select sequence set setof sets show signal smalldatetime smallint smallmoney some sql start
    statement statistics stored sum table tablesample temp temporary text then throw time timestamp timestamptz
    tinyint tinytext to top tran transaction trigger truncate try type union unique uniqueidentifier unlogged
    unpivot until update use using values varbinary varchar varchar2 varying view waitfor when where while window
    with within work xml year zone
"""

_BUILT_IN = """
    abs acos array_agg ascii asin atan atan2 avg binary_checksum cast ceil ceiling char_length charindex checksum choose
    coalesce col_length col_name columnproperty concat concat_ws convert cos cot count count_big crypt_gen_random
    cume_dist curdate current_date current_setting current_time current_timestamp current_user currval curtime
    database databasepropertyex datalength date_add date_format date_part date_sub date_trunc dateadd datediff
    datefromparts datename datepart day db_id db_name degrees dense_rank eomonth error_line error_message error_number
    error_procedure error_severity error_state exp extract first_value floor format from_unixtime gen_random_uuid
    generate_series getdate getutcdate greatest group_concat has_dbaccess hashbytes hex host_name hour ident_current
    ifnull iif index_col initcap instr is_member is_srvrolemember isdate isjson isnull isnumeric json_agg
    json_array json_build_object json_extract json_object json_query json_value julianday lag last_insert_id last_value
    lcase lead least left len length ln localtimestamp locate log log10 lower lpad ltrim md5 microsecond minute mod
    month newid newsequentialid nextval now nth_value ntile nullif object_definition object_id object_name
    object_schema_name objectproperty objectpropertyex octet_length openjson openquery openrowset openxml original_login
    parse parsename patindex percent_rank pi position pow power print printf quotename radians rand random rank
    regexp_matches regexp_replace replace replicate reverse right round row_number row_to_json rpad rtrim
    schema_id schema_name scope_identity second session_user setval sign sin soundex space split_part sqrt square
    stddev stdev str str_to_date strftime string_agg string_escape string_split strpos stuff substr substring
    suser_id suser_name suser_sid suser_sname switchoffset sysdatetime sysdatetimeoffset system_user sysutcdatetime tan
    time_format timediff timestampadd timestampdiff to_char to_date to_number to_timestamp todatetimeoffset total
    translate trigger_nestlevel trim trunc try_cast try_convert try_parse type_id type_name typeof ucase unicode
    unix_timestamp unnest updating upper user user_id user_name uuid var variance varp week weekday xact_state
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
