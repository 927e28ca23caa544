ALTER TABLE "guest_requests" ADD COLUMN "mailbox_digest" BYTEA;
ALTER TABLE "guest_requests" ADD COLUMN "asker_digest" BYTEA;
