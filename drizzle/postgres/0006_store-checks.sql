CREATE TABLE "store_checks" (
	"line_key" text collate "C" PRIMARY KEY NOT NULL,
	"due_at" bigint NOT NULL,
	"attempts" bigint NOT NULL,
	"is_token_unset" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "store_history" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"complete_until" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "store_evidence" (
	"event_row" text collate "C" PRIMARY KEY NOT NULL,
	"received_at" bigint NOT NULL,
	"content" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE INDEX "store_checks_due" ON "store_checks" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "store_evidence_received" ON "store_evidence" USING btree ("received_at");