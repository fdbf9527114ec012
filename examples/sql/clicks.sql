-- Clicks and sales of advertisements in windows by event time.
--
--     heronpy sql examples/sql/clicks.sql
--
-- Each SELECT prints its rows as lines of JSON. The rows of clicks.json come in disorder, by ten seconds at most.

CREATE TABLE clicks (ad STRING, at TIMESTAMP, price DOUBLE)
USING json OPTIONS (path 'clicks.json', lag '10 seconds');

CREATE TABLE sales (ad STRING, at TIMESTAMP, amount INT)
USING json OPTIONS (path 'sales.json', lag '10 seconds');

CREATE TABLE ads (ad STRING, name STRING) USING csv OPTIONS (path 'ads.csv');

SELECT a.name, window.start AS since, count(*) AS clicks, sum(c.price) AS paid
FROM clicks c LEFT JOIN ads a ON c.ad = a.ad
WHERE c.price IS NOT NULL
GROUP BY a.name, window(c.at, '1 minute');

SELECT c.ad AS sold, c.at AS clicked, s.amount
FROM clicks c JOIN sales s ON c.ad = s.ad AND s.at BETWEEN c.at AND c.at + INTERVAL 5 SECONDS;
