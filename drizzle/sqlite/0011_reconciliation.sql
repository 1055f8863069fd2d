CREATE TABLE `reconciliation` (
	`id` text PRIMARY KEY NOT NULL,
	`after_purchase` text NOT NULL
);
