ALTER TABLE "operator_sessions" ADD COLUMN "opened_with" text collate "C";--> statement-breakpoint
ALTER TABLE "operator_sessions" ADD COLUMN "proven_with" text collate "C";