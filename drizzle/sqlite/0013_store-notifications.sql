CREATE TABLE `store_notifications` (
	`id` text PRIMARY KEY NOT NULL,
	`last_at` integer NOT NULL
);
