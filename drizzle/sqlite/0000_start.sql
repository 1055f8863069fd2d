CREATE TABLE `attachments` (
	`key` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`type` text NOT NULL,
	`file_name` text NOT NULL,
	`item_type` text NOT NULL,
	`size` integer NOT NULL,
	`width` integer,
	`height` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `attachments_user` ON `attachments` (`user_id`);--> statement-breakpoint
CREATE TABLE `billing_events` (
	`id` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`event_id` text NOT NULL,
	`type` text NOT NULL,
	`event_at` integer,
	`received_at` integer NOT NULL,
	`body` blob NOT NULL,
	`body_hash` text NOT NULL,
	`environment` text,
	`app_user_id` text,
	`outcome` text NOT NULL,
	`error` text,
	`duplicates` integer NOT NULL,
	`conflicting` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `billing_events_event` ON `billing_events` (`provider`,`event_id`);--> statement-breakpoint
CREATE INDEX `billing_events_user` ON `billing_events` (`app_user_id`);--> statement-breakpoint
CREATE TABLE `content_versions` (
	`name` text PRIMARY KEY NOT NULL,
	`version` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `faqs` (
	`id` text PRIMARY KEY NOT NULL,
	`position` integer NOT NULL,
	`question` text NOT NULL,
	`answer` text NOT NULL,
	`category` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `plans` (
	`id` text PRIMARY KEY NOT NULL,
	`code` text NOT NULL,
	`position` integer NOT NULL,
	`fields` text NOT NULL,
	`archived_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `plans_code` ON `plans` (`code`);--> statement-breakpoint
CREATE TABLE `rate_feeds` (
	`provider` text PRIMARY KEY NOT NULL,
	`set_id` text,
	`etag` text,
	`last_modified` text,
	`succeeded_at` integer,
	`held` text,
	FOREIGN KEY (`set_id`) REFERENCES `rate_sets`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `rate_sets` (
	`id` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`base_code` text NOT NULL,
	`date` text NOT NULL,
	`published_at` integer NOT NULL,
	`stored_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `rate_sets_date` ON `rate_sets` (`provider`,`date`);--> statement-breakpoint
CREATE TABLE `rates` (
	`set_id` text NOT NULL,
	`code` text NOT NULL,
	`rate` real NOT NULL,
	PRIMARY KEY(`set_id`, `code`),
	FOREIGN KEY (`set_id`) REFERENCES `rate_sets`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `refresh_tokens` (
	`hash` text PRIMARY KEY NOT NULL,
	`session_id` text NOT NULL,
	`generation` integer NOT NULL,
	`first_used_at` integer,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `refresh_tokens_generation` ON `refresh_tokens` (`session_id`,`generation`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`device` text NOT NULL,
	`generation` integer NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `sessions_user` ON `sessions` (`user_id`);--> statement-breakpoint
CREATE TABLE `settings` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`login_type` text NOT NULL,
	`email` text,
	`email_key` text,
	`password_hash` text,
	`name` text NOT NULL,
	`locale` text NOT NULL,
	`timezone` text NOT NULL,
	`currency` text NOT NULL,
	`onboarding_completed` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_key` ON `users` (`email_key`);