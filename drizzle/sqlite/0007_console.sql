CREATE TABLE `operators` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`password_hash` text,
	`totp_secret` text,
	`totp_step` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `operators_name` ON `operators` (`name`);--> statement-breakpoint
CREATE TABLE `operator_passkeys` (
	`id` text PRIMARY KEY NOT NULL,
	`operator_id` text NOT NULL,
	`public_key` text NOT NULL,
	`counter` integer NOT NULL,
	`transports` text NOT NULL,
	`host` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	FOREIGN KEY (`operator_id`) REFERENCES `operators`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `operator_passkeys_operator` ON `operator_passkeys` (`operator_id`);--> statement-breakpoint
CREATE TABLE `operator_sessions` (
	`hash` text PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`operator_id` text NOT NULL,
	`device` text NOT NULL,
	`ip` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_seen_at` integer NOT NULL,
	`proven_at` integer NOT NULL,
	FOREIGN KEY (`operator_id`) REFERENCES `operators`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `operator_sessions_operator` ON `operator_sessions` (`operator_id`);--> statement-breakpoint
CREATE TABLE `operator_tokens` (
	`hash` text PRIMARY KEY NOT NULL,
	`purpose` text NOT NULL,
	`operator_id` text,
	`content` text,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`operator_id`) REFERENCES `operators`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `operator_recovery_codes` (
	`operator_id` text NOT NULL,
	`hash` text NOT NULL,
	PRIMARY KEY(`operator_id`, `hash`),
	FOREIGN KEY (`operator_id`) REFERENCES `operators`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `audit_entries` (
	`id` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`operator` text,
	`origin` text NOT NULL,
	`action` text NOT NULL,
	`target` text,
	`before` text,
	`after` text,
	`request_id` text
);
--> statement-breakpoint
CREATE INDEX `audit_entries_action` ON `audit_entries` (`action`,`id`);--> statement-breakpoint
CREATE INDEX `audit_entries_operator` ON `audit_entries` (`operator`,`id`);--> statement-breakpoint
CREATE INDEX `audit_entries_target` ON `audit_entries` (`target`,`id`);--> statement-breakpoint
CREATE TABLE `publications` (
	`kind` text NOT NULL,
	`version` integer NOT NULL,
	`content` text NOT NULL,
	`author` text,
	`note` text NOT NULL,
	`published_at` integer NOT NULL,
	PRIMARY KEY(`kind`, `version`)
);
--> statement-breakpoint
CREATE TABLE `samples` (
	`span` text NOT NULL,
	`at` integer NOT NULL,
	`instance` text NOT NULL,
	`values` text NOT NULL,
	PRIMARY KEY(`span`, `at`, `instance`)
);
--> statement-breakpoint
CREATE INDEX `billing_events_conflicting` ON `billing_events` (`id`) WHERE "billing_events"."conflicting";--> statement-breakpoint
CREATE INDEX `billing_events_clock` ON `billing_events` (`id`) WHERE "billing_events"."clock_is_off";--> statement-breakpoint
CREATE INDEX `billing_events_sandbox` ON `billing_events` (`id`) WHERE "billing_events"."environment" = 'SANDBOX';--> statement-breakpoint
CREATE INDEX `billing_events_rare` ON `billing_events` (`type`,`id`) WHERE "billing_events"."type" NOT IN ('INITIAL_PURCHASE', 'RENEWAL', 'CANCELLATION', 'EXPIRATION');