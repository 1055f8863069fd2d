CREATE TABLE `alerts` (
	`rule` text PRIMARY KEY NOT NULL,
	`is_on` integer NOT NULL,
	`threshold` real,
	`breached_since` integer,
	`fired_at` integer,
	`calm_since` integer,
	`value` real
);
