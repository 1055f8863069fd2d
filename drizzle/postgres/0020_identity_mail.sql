ALTER TABLE "identities" ADD COLUMN "mail_disabled" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "identities" ADD COLUMN "mail_event_at" bigint;