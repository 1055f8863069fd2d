CREATE TABLE `sealed_requests` (
	`id` text PRIMARY KEY NOT NULL,
	`forget_at` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `sessions` ADD `sealed` integer DEFAULT false NOT NULL;