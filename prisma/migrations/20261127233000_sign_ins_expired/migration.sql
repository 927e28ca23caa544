-- concurrently
CREATE INDEX CONCURRENTLY IF NOT EXISTS "sign_ins_expires_at_idx" ON "sign_ins" ("expires_at");
