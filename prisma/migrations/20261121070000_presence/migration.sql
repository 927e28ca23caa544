-- CreateTable
CREATE UNLOGGED TABLE "stream_processes" (
    "id" UUID NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "stream_processes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE UNLOGGED TABLE "stream_counts" (
    "tenant_id" UUID NOT NULL,
    "discussion_id" UUID NOT NULL,
    "process_id" UUID NOT NULL,
    "streams" INTEGER NOT NULL,

    CONSTRAINT "stream_counts_pkey" PRIMARY KEY ("tenant_id","discussion_id","process_id")
);

-- CreateIndex
CREATE INDEX "stream_counts_process_id_idx" ON "stream_counts"("process_id");

-- AddForeignKey
ALTER TABLE "stream_counts" ADD CONSTRAINT "stream_counts_process_id_fkey" FOREIGN KEY ("process_id") REFERENCES "stream_processes"("id") ON DELETE CASCADE ON UPDATE CASCADE;
