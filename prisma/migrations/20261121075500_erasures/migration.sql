-- CreateIndex
CREATE INDEX "readers_erasing" ON "readers"("erasing_at") WHERE (erasing_at IS NOT NULL);
