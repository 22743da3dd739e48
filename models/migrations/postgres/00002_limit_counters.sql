-- +goose Up
-- What RATELIMIT_STORAGE_URI=database:// counts in: see limits/README.md. The tables are UNLOGGED: no decision waits
-- for the disk, and a crash of the server forgets what was counted, which limit_epochs tells. The functions carry a
-- version in their names: a change is a new one beside them, so that two versions of the server can run at once. The
-- names' locks and the rows are common to all versions.

-- One row is the log of one counter, as limits/window.go has it. moments and totals rise, so that both are searched
-- by halving: totals has one number more, the first is what had been admitted before the oldest quantum.
CREATE UNLOGGED TABLE limit_counters (
    name text PRIMARY KEY,
    base bigint NOT NULL, -- tick that moments count from
    moments integer[] NOT NULL, -- of each quantum the last moment, in ticks after base
    totals integer[] NOT NULL, -- units admitted before the oldest quantum, then up to the end of each
    ends_at bigint NOT NULL, -- microseconds since 1970: nothing is counted from here on
    look_at bigint NOT NULL -- when the sweep looks at it; seldom written, because an index on ends_at would grow at every charge
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX limit_counters_look ON limit_counters (look_at);

CREATE UNLOGGED TABLE limit_leases (
    key text NOT NULL,
    id text NOT NULL,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (key, id)
);
CREATE INDEX limit_leases_end ON limit_leases (ends_at);

-- One row, which vanishes together with the counters.
CREATE UNLOGGED TABLE limit_epochs (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch text NOT NULL
);

-- Charges one log at a moment, in ticks. A clock that has stepped back counts at the newest moment, so that moments never
-- fall.
-- +goose StatementBegin
CREATE FUNCTION limits_charge_1(log limit_counters, moment bigint, length bigint, quantum bigint, tick bigint, cost bigint)
RETURNS limit_counters LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    live integer := cardinality(log.moments);
    shift integer;
BEGIN
    IF live = 0 THEN
        log.base := moment; log.moments := '{0}'; log.totals := ARRAY[0, cost];
    ELSE
        moment := greatest(moment, log.base + log.moments[live]);
        IF moment - log.base > 2147483647 OR log.totals[live + 1] + cost > 2147483647 THEN
            -- What is counted lies within one window and one figure: counted from the oldest it has 31 bits.
            shift := log.moments[1];
            log.base := log.base + shift;
            log.moments := ARRAY(SELECT m - shift FROM unnest(log.moments) WITH ORDINALITY AS a (m, o) ORDER BY o);
            shift := log.totals[1];
            log.totals := ARRAY(SELECT t - shift FROM unnest(log.totals) WITH ORDINALITY AS a (t, o) ORDER BY o);
        END IF;
        IF (log.base + log.moments[live]) / quantum < moment / quantum THEN
            live := live + 1;
            log.totals[live + 1] := log.totals[live];
        END IF;
        log.moments[live] := moment - log.base;
        log.totals[live + 1] := log.totals[live + 1] + cost;
    END IF;
    log.ends_at := (moment + length) * tick;
    RETURN log;
END
$$;
-- +goose StatementEnd

-- One decision about a whole stack: every counter is charged, or none is and nothing is written.
--
-- names: the counters; one that stands twice is charged once, by the first. commons: the counter that each shares with
-- other newcomers while there is no room (crowded). numbers: for each counter the figure, the length and quantum of its
-- window in ticks, the tick in microseconds, the cost.
--
-- Answer: 1 or 0 for admitted or refused, how many counters were made, then for each counter what is counted, and in
-- microseconds the wait for this request (-1: never), for the next unit, and until nothing is counted.
--
-- Advisory locks, because a counter that is not yet there has no row to lock, and a row's lock would be a write. They
-- are taken in one order over all decisions: own counters (even), then common ones (odd), each by number. The function
-- is VOLATILE, so that what is read after the locks is what was committed before them; the clock is read after them
-- too, so that it does not fall behind a decision that went before.
-- +goose StatementBegin
CREATE FUNCTION limits_take_1(taking boolean, crowded boolean, names text[], commons text[], numbers bigint[])
RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    clock bigint;
    stack integer := cardinality(names);
    log limit_counters; -- the log at hand
    logs limit_counters[]; -- the different logs of the stack
    slots integer[]; -- where in logs the log of each counter is
    keys text[]; -- the names of the rows of logs
    slot integer;
    fresh boolean;
    made integer := 0;
    admitted boolean := true;
    figure bigint; length bigint; quantum bigint; tick bigint; cost bigint;
    gone integer; live integer;
    over bigint; used bigint;
    wait bigint; waits bigint[]; next bigint; whole bigint;
    answer bigint[];
BEGIN
    IF taking THEN
        PERFORM pg_advisory_xact_lock(number) FROM (
            SELECT DISTINCT hashtextextended(name, 0) & -2 AS number FROM unnest(names) AS n (name) ORDER BY number
        ) AS locks;
        IF crowded THEN
            PERFORM pg_advisory_xact_lock(number) FROM (
                SELECT DISTINCT hashtextextended(name, 0) | 1 AS number FROM unnest(commons) AS n (name) ORDER BY number
            ) AS locks;
        END IF;
    END IF;
    clock := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

    -- Read and judge.
    FOR i IN 1..stack LOOP
        figure := numbers[5 * i - 4]; length := numbers[5 * i - 3]; tick := numbers[5 * i - 1]; cost := numbers[5 * i];
        slot := slots[array_position(names, names[i])];
        IF slot IS NULL THEN
            fresh := false;
            SELECT * INTO log FROM limit_counters AS c WHERE c.name = names[i];
            IF NOT FOUND THEN
                -- A newcomer begins with what is counted in common: what it did while there was no room is in there.
                SELECT * INTO log FROM limit_counters AS c WHERE c.name = commons[i];
                IF NOT FOUND THEN
                    log.base := 0; log.moments := '{}'; log.totals := '{0}'; fresh := true;
                END IF;
                fresh := fresh OR NOT crowded;
                log.name := CASE WHEN crowded THEN commons[i] ELSE names[i] END;
            END IF;
            slot := array_position(keys, log.name);
            IF slot IS NULL THEN
                -- The moments up to the edge have left. Numbers beyond 32 bits lie beyond every moment.
                gone := width_bucket(greatest(-1, least(clock / tick - length - log.base, 2147483647))::integer, log.moments);
                IF gone > 0 THEN
                    log.moments := log.moments[gone + 1:]; log.totals := log.totals[gone + 1:];
                END IF;
                slot := coalesce(cardinality(keys), 0) + 1;
                keys[slot] := log.name; logs[slot] := log; made := made + fresh::integer;
            END IF;
        END IF;
        slots[i] := slot;
        log := logs[slot];
        wait := 0;
        IF taking THEN
            over := log.totals[cardinality(log.totals)] - log.totals[1] + cost - figure;
            IF cost > figure THEN
                wait := -1;
            ELSIF over > 0 THEN
                gone := width_bucket((log.totals[1] + over - 1)::integer, log.totals);
                wait := (log.base + log.moments[gone] + length) * tick - clock;
            END IF;
            admitted := admitted AND wait = 0;
        END IF;
        waits[i] := wait;
    END LOOP;

    -- Charge.
    IF taking AND admitted THEN
        FOR i IN 1..stack LOOP
            CONTINUE WHEN array_position(names, names[i]) < i;
            length := numbers[5 * i - 3]; quantum := numbers[5 * i - 2]; tick := numbers[5 * i - 1]; cost := numbers[5 * i];
            log := limits_charge_1(logs[slots[i]], (clock + tick - 1) / tick, length, quantum, tick, cost);
            logs[slots[i]] := log;
            INSERT INTO limit_counters AS c (name, base, moments, totals, ends_at, look_at)
            VALUES (log.name, log.base, log.moments, log.totals, log.ends_at, log.ends_at)
            ON CONFLICT (name) DO UPDATE SET base = excluded.base, moments = excluded.moments, totals = excluded.totals,
                ends_at = excluded.ends_at;
        END LOOP;
    ELSE
        made := 0;
    END IF;

    answer := ARRAY[admitted::integer, made];
    FOR i IN 1..stack LOOP
        figure := numbers[5 * i - 4]; length := numbers[5 * i - 3]; tick := numbers[5 * i - 1];
        log := logs[slots[i]];
        live := cardinality(log.moments);
        used := log.totals[live + 1] - log.totals[1];
        next := 0; whole := 0;
        IF used > 0 THEN
            -- Where the figure was lowered below what is counted, room grows only when that has sunk below it.
            gone := width_bucket((log.totals[1] + greatest(1, used + 1 - figure) - 1)::integer, log.totals);
            next := (log.base + log.moments[gone] + length) * tick - clock;
            whole := (log.base + log.moments[live] + length) * tick - clock;
        END IF;
        answer := answer || ARRAY[used, waits[i], next, whole];
    END LOOP;
    RETURN answer;
END
$$;
-- +goose StatementEnd

-- Takes one of so many places for a while; a lease that has run out is nobody's. Renewing takes the same lock: else a
-- place could be given away between our look at the clock and our write.
-- +goose StatementBegin
CREATE FUNCTION limits_acquire_1(place text, places bigint, microseconds bigint, holder text)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    clock timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('lease:' || place, 0) & -2);
    clock := clock_timestamp();
    IF (SELECT count(*) FROM limit_leases WHERE key = place AND ends_at > clock) >= places THEN
        RETURN false;
    END IF;
    DELETE FROM limit_leases WHERE key = place AND ends_at <= clock;
    INSERT INTO limit_leases (key, id, ends_at) VALUES (place, holder, clock + microseconds * interval '1 microsecond');
    RETURN true;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION limits_renew_1(place text, microseconds bigint, holder text)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    clock timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('lease:' || place, 0) & -2);
    clock := clock_timestamp();
    UPDATE limit_leases SET ends_at = clock + microseconds * interval '1 microsecond'
    WHERE key = place AND id = holder AND ends_at > clock;
    RETURN FOUND;
END
$$;
-- +goose StatementEnd

-- Deletes idle counters and leases that have run out, at most so many of each, and tells how many it looked at.
-- It waits for nobody's row, and a decision that waits for one of its rows makes the counter anew.
-- +goose StatementBegin
CREATE FUNCTION limits_sweep_1(batch integer)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    clock timestamptz := clock_timestamp();
    microseconds bigint := (extract(epoch FROM clock) * 1000000)::bigint;
    due text[];
    leases bigint;
BEGIN
    due := ARRAY(SELECT name FROM limit_counters WHERE look_at <= microseconds ORDER BY look_at LIMIT batch FOR UPDATE SKIP LOCKED);
    DELETE FROM limit_counters WHERE name = ANY (due) AND ends_at <= microseconds;
    UPDATE limit_counters SET look_at = ends_at WHERE name = ANY (due) AND ends_at > microseconds;
    DELETE FROM limit_leases AS l USING (
        SELECT key, id FROM limit_leases WHERE ends_at <= clock ORDER BY ends_at LIMIT batch FOR UPDATE SKIP LOCKED
    ) AS gone WHERE l.key = gone.key AND l.id = gone.id;
    GET DIAGNOSTICS leases = ROW_COUNT;
    RETURN greatest(cardinality(due), leases);
END
$$;
-- +goose StatementEnd
