CREATE TABLE `play_purchases` (
	`token_hash` text PRIMARY KEY NOT NULL,
	`sealed_token` text NOT NULL,
	`package_name` text NOT NULL,
	`kind` text,
	`product_id` text,
	`line` text,
	`items` text NOT NULL,
	`linked_hash` text,
	`urgency` integer NOT NULL,
	`due_at` integer,
	`mark` text NOT NULL,
	`leased_until` integer NOT NULL,
	`attempts` integer NOT NULL,
	`misses` integer NOT NULL,
	`asked_at` integer,
	`unacknowledged_since` integer,
	`gone_at` integer
);
--> statement-breakpoint
CREATE INDEX `play_purchases_due` ON `play_purchases` (`urgency`,`due_at`);--> statement-breakpoint
CREATE INDEX `play_purchases_line` ON `play_purchases` (`line`);--> statement-breakpoint
CREATE INDEX `play_purchases_unacknowledged` ON `play_purchases` (`unacknowledged_since`);--> statement-breakpoint
CREATE TABLE `play_claims` (
	`token_hash` text NOT NULL,
	`user_id` text NOT NULL,
	`take_over` integer NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`token_hash`, `user_id`)
);
--> statement-breakpoint
CREATE INDEX `play_claims_user` ON `play_claims` (`user_id`);