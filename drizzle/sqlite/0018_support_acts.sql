CREATE TABLE `user_names` (
	`word` text NOT NULL,
	`user_id` text NOT NULL,
	PRIMARY KEY(`word`, `user_id`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `user_names_user` ON `user_names` (`user_id`,`word`);--> statement-breakpoint
CREATE TABLE `user_backfills` (
	`id` text PRIMARY KEY NOT NULL,
	`reached` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `purchase_transactions` (
	`transaction_id` text NOT NULL,
	`line_key` text NOT NULL,
	PRIMARY KEY(`transaction_id`, `line_key`)
);
