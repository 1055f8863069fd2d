CREATE TABLE `purchase_usage` (
	`purchase_key` text NOT NULL,
	`name` text NOT NULL,
	`starts_at` integer NOT NULL,
	`ends_at` integer,
	`used` integer NOT NULL,
	PRIMARY KEY(`purchase_key`, `name`, `starts_at`)
);
--> statement-breakpoint
CREATE INDEX `purchase_usage_end` ON `purchase_usage` (`ends_at`);