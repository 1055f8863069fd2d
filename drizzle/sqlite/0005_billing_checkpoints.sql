CREATE TABLE `line_checkpoints` (
	`line_key` text NOT NULL,
	`up_to` integer NOT NULL,
	`state` text NOT NULL,
	PRIMARY KEY(`line_key`, `up_to`)
);
--> statement-breakpoint
CREATE TABLE `stale_customers` (
	`customer_id` text PRIMARY KEY NOT NULL,
	`after_line` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `stale_lines` (
	`line_key` text PRIMARY KEY NOT NULL,
	`since` integer NOT NULL,
	`until` integer NOT NULL
);
--> statement-breakpoint
DROP INDEX `billing_events_user`;--> statement-breakpoint
DROP INDEX `billing_events_line`;--> statement-breakpoint
CREATE INDEX `billing_events_user` ON `billing_events` (`app_user_id`,`ordered_at`);--> statement-breakpoint
CREATE INDEX `billing_events_line` ON `billing_events` (`line_key`,`ordered_at`);