-- DropIndex
DROP INDEX "deliveries_due";

-- AlterTable
ALTER TABLE "webhook_endpoints" ADD COLUMN     "recovered_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "deliveries" ADD COLUMN     "body" TEXT,
ADD COLUMN     "is_replay" BOOLEAN NOT NULL DEFAULT false;

-- CreateIndex
CREATE INDEX "deliveries_due" ON "deliveries"("tenant_id", "endpoint_id", "is_replay", "next_attempt_at") WHERE (status IN ('pending', 'delivering'));

-- CreateIndex
CREATE INDEX "deliveries_in_flight" ON "deliveries"("tenant_id", "endpoint_id", "next_attempt_at") WHERE (status = 'delivering');

-- CreateIndex
CREATE INDEX "deliveries_held" ON "deliveries"("tenant_id", "endpoint_id", "id") WHERE (status = 'held');


-- Attempts under way at an endpoint, over all workers. Volatile on purpose: called by a statement that has just locked the
-- endpoint, it sees what was committed until then, where the statement itself sees what was there when it began.
CREATE FUNCTION "attempts_in_flight"(tenant uuid, endpoint uuid) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT count(*) FROM deliveries
    WHERE tenant_id = tenant AND endpoint_id = endpoint AND status = 'delivering' AND next_attempt_at > now());
END
$$;

-- The smallest UUIDv7 of an instant: ids from then on are not below it.
CREATE FUNCTION "first_id"("at" timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT encode(
    substring(int8send(greatest(0, extract(epoch FROM at) * 1000)::bigint) FROM 3) || '\x70008000000000000000'::bytea,
    'hex')::uuid
$$;
