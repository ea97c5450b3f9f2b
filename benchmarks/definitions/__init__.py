"""How many of the definitions that another program lists in real sources Dowse has, too.

`sources` has the packages of each language, `listers` what the other program is asked and which of its kinds count,
`comparing` the comparison, `section` the table.
"""
