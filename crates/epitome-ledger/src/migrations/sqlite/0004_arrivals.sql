-- What was acknowledged and is not sorted into its tables yet. A writer waits for one row instead of a dozen; the rest is
-- done a little later, many at a time. The session's own row is always up to date.
CREATE TABLE arrivals (
    key    INTEGER PRIMARY KEY,
    -- The turn that it records; none where it is the reply to one.
    turn   BLOB UNIQUE,
    record BLOB NOT NULL
) STRICT;
