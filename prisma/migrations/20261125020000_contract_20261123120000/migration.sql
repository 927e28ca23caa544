-- PostgreSQL reads the body of an SQL function anew in each statement that writes a comment, to see whether it can take
-- its place. That of a PL/pgSQL function it reads once in a session, and where it is called.
CREATE OR REPLACE FUNCTION reaction_total(counts jsonb) RETURNS integer LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN (SELECT coalesce(sum(value::integer), 0) FROM jsonb_each_text(counts));
END $$;
