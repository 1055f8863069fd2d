CREATE TABLE `purchase_periods` (
	`line_key` text PRIMARY KEY NOT NULL,
	`periods` text NOT NULL,
	`replaced_by` text
);
--> statement-breakpoint
CREATE INDEX `purchase_periods_replaced` ON `purchase_periods` (`replaced_by`) WHERE "purchase_periods"."replaced_by" IS NOT NULL;--> statement-breakpoint
CREATE TABLE `business_sums` (
	`environment` text NOT NULL,
	`series` text NOT NULL,
	`period` text NOT NULL,
	`item` text NOT NULL,
	`sum` integer NOT NULL,
	PRIMARY KEY(`environment`, `series`, `period`, `item`)
);
--> statement-breakpoint
CREATE TABLE `changed_purchases` (
	`line_key` text PRIMARY KEY NOT NULL,
	`changes` integer NOT NULL
);
