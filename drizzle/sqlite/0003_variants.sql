CREATE TABLE `upload_retries` (
	`user_id` text NOT NULL,
	`retry_key` text NOT NULL,
	`answer` text NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `retry_key`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `variants` (
	`key` text PRIMARY KEY NOT NULL,
	`original` text NOT NULL,
	`size` integer NOT NULL,
	FOREIGN KEY (`original`) REFERENCES `attachments`(`key`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `variants_original` ON `variants` (`original`);