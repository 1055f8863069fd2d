CREATE TABLE `billing_aliases` (
	`app_user_id` text PRIMARY KEY NOT NULL,
	`customer_id` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `billing_aliases_customer` ON `billing_aliases` (`customer_id`);--> statement-breakpoint
CREATE TABLE `billing_tombstones` (
	`pseudonym` text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE `line_holders` (
	`line_key` text NOT NULL,
	`customer_id` text NOT NULL,
	PRIMARY KEY(`line_key`, `customer_id`)
);
--> statement-breakpoint
CREATE INDEX `line_holders_customer` ON `line_holders` (`customer_id`);--> statement-breakpoint
CREATE TABLE `subscriptions` (
	`line_key` text PRIMARY KEY NOT NULL,
	`customer_id` text NOT NULL,
	`environment` text NOT NULL,
	`state` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `subscriptions_customer` ON `subscriptions` (`customer_id`);--> statement-breakpoint
CREATE TABLE `transfer_ids` (
	`app_user_id` text NOT NULL,
	`event_row` text NOT NULL,
	`is_source` integer NOT NULL,
	PRIMARY KEY(`app_user_id`, `event_row`, `is_source`)
);
--> statement-breakpoint
ALTER TABLE `billing_events` ADD `ordered_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `billing_events` ADD `line_key` text;--> statement-breakpoint
ALTER TABLE `billing_events` ADD `clock_is_off` integer DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `billing_events_line` ON `billing_events` (`line_key`);--> statement-breakpoint
CREATE INDEX `billing_events_failed` ON `billing_events` (`outcome`) WHERE "billing_events"."outcome" = 'failed';