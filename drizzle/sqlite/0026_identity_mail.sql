ALTER TABLE `identities` ADD `mail_disabled` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `identities` ADD `mail_event_at` integer;