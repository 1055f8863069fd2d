CREATE TABLE `stripe_customers` (
	`id` text PRIMARY KEY NOT NULL,
	`environment` text NOT NULL,
	`user_id` text NOT NULL,
	`is_current` integer NOT NULL,
	`email_hash` text
);
--> statement-breakpoint
CREATE INDEX `stripe_customers_user` ON `stripe_customers` (`user_id`);--> statement-breakpoint
CREATE TABLE `stripe_checkouts` (
	`user_id` text NOT NULL,
	`environment` text NOT NULL,
	`attempt` text NOT NULL,
	`request` text NOT NULL,
	`params` text NOT NULL,
	`created_at` integer NOT NULL,
	`session_id` text,
	PRIMARY KEY(`user_id`, `environment`)
);
--> statement-breakpoint
CREATE TABLE `stripe_objects` (
	`id` text PRIMARY KEY NOT NULL,
	`environment` text NOT NULL,
	`task` text NOT NULL,
	`customer` text,
	`user_id` text,
	`items` text NOT NULL,
	`is_paid_back` integer NOT NULL,
	`due_at` integer,
	`mark` text NOT NULL,
	`leased_until` integer NOT NULL,
	`attempts` integer NOT NULL,
	`asked_at` integer
);
--> statement-breakpoint
CREATE INDEX `stripe_objects_due` ON `stripe_objects` (`due_at`);--> statement-breakpoint
CREATE INDEX `stripe_objects_customer` ON `stripe_objects` (`customer`);--> statement-breakpoint
CREATE INDEX `stripe_objects_user` ON `stripe_objects` (`user_id`);