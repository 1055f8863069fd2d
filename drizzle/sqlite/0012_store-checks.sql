CREATE TABLE `store_checks` (
	`line_key` text PRIMARY KEY NOT NULL,
	`due_at` integer NOT NULL,
	`attempts` integer NOT NULL,
	`is_token_unset` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `store_checks_due` ON `store_checks` (`due_at`);--> statement-breakpoint
CREATE TABLE `store_history` (
	`id` text PRIMARY KEY NOT NULL,
	`complete_until` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `store_evidence` (
	`event_row` text PRIMARY KEY NOT NULL,
	`received_at` integer NOT NULL,
	`content` blob NOT NULL
);
--> statement-breakpoint
CREATE INDEX `store_evidence_received` ON `store_evidence` (`received_at`);