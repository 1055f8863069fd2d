CREATE TABLE `operator_views` (
	`operator_id` text NOT NULL,
	`name` text NOT NULL,
	`path` text NOT NULL,
	`search` text NOT NULL,
	PRIMARY KEY(`operator_id`, `name`),
	FOREIGN KEY (`operator_id`) REFERENCES `operators`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE `users` ADD `last_seen_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `platform` text;--> statement-breakpoint
ALTER TABLE `users` ADD `country` text;--> statement-breakpoint
CREATE INDEX `users_created` ON `users` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `users_seen` ON `users` (`last_seen_at`,`id`);--> statement-breakpoint
CREATE INDEX `users_platform` ON `users` (`platform`,`id`);--> statement-breakpoint
CREATE INDEX `users_country` ON `users` (`country`,`id`);--> statement-breakpoint
CREATE INDEX `users_guests` ON `users` (`id`) WHERE "users"."login_type" = 'guest';--> statement-breakpoint
CREATE INDEX `users_not_guests` ON `users` (`id`) WHERE "users"."login_type" <> 'guest';--> statement-breakpoint
ALTER TABLE `access_states` ADD `status` text;--> statement-breakpoint
ALTER TABLE `access_states` ADD `plan` text;--> statement-breakpoint
CREATE INDEX `access_states_status` ON `access_states` (`status`,`user_id`);--> statement-breakpoint
CREATE INDEX `access_states_plan` ON `access_states` (`plan`,`user_id`);