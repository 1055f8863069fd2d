CREATE TABLE `purchased_offers` (
	`environment` text NOT NULL,
	`offer` text NOT NULL,
	`line_key` text NOT NULL,
	PRIMARY KEY(`environment`, `offer`)
);
