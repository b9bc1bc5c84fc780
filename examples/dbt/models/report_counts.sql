-- One row for each question, group, kind of report: all that an estimate needs.
-- Reports are those of RR, JRR or DRR (of MRR: sum(report) and count(*)).
{{ config(materialized='table') }}

SELECT question, region, carded, report, count(*) AS reports
FROM {{ source('survey', 'reports') }}
GROUP BY question, region, carded, report
