"""The style sheet of a report: light, dark and on paper, on phones and on screens."""

STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1c2126;--soft:#4d5862;--line:#d5dae0;
--panel:#f4f6f8;--bar:#5f95cb;--mark:#1f5f9e;--error:#14181c;--grid:#e3e7eb;--link:#1b5e9b}
@media (prefers-color-scheme:dark){:root{--page:#14181c;--ink:#e8ebee;--soft:#aab4bd;
--line:#3a444d;--panel:#1e242a;--bar:#3f6f9f;--mark:#8cbcf0;--error:#f2f4f6;--grid:#2b333b;
--link:#8cbcf0}}
*{box-sizing:border-box}
body{font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
background:var(--page);color:var(--ink);max-width:46rem;margin:0 auto;padding:1.5rem 1rem 4rem;
overflow-wrap:anywhere}
h1{font-size:1.8rem;line-height:1.2;margin:.2rem 0 .6rem}
h2{font-size:1.3rem;margin:2.6rem 0 .6rem;padding-top:.8rem;border-top:1px solid var(--line)}
h3{font-size:1.06rem;line-height:1.35;margin:2rem 0 .4rem}
h4{font-size:1rem;font-weight:600;margin:1.4rem 0 .4rem}
p{margin:.5rem 0}
a{color:var(--link)}
.about,.note,caption,footer{color:var(--soft);font-size:.9rem}
.about{margin:0;letter-spacing:.02em}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:none;padding:0;margin:.8rem 0}
nav li{margin:0}
figure{margin:.8rem 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.93rem;margin:.6rem 0;
font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.2rem 0;caption-side:top}
th,td{border-bottom:1px solid var(--line);padding:.32rem .7rem .32rem 0;text-align:right;
vertical-align:top;font-weight:400;overflow-wrap:normal}
thead th{color:var(--soft);vertical-align:bottom}
th:first-child,td:first-child,th.words,td.words{text-align:left;overflow-wrap:break-word}
th[scope=row],td.words{min-width:5em}
td.words:last-child{min-width:13em}
th:last-child,td:last-child{padding-right:0}
td.number{white-space:nowrap}
tr.all th,tr.all td{font-weight:600}
.quote{background:var(--panel);border-left:4px solid var(--mark);padding:.8rem 1rem;margin:.8rem 0}
code{font-size:.85rem;overflow-wrap:anywhere}
main li{margin:.35rem 0}
footer{margin-top:3rem;border-top:1px solid var(--line);padding-top:.8rem}
svg.bars{display:block;overflow:visible}
svg text{fill:var(--ink);font-size:14px}
svg .label{paint-order:stroke;stroke:var(--page);stroke-width:4px;stroke-linejoin:round}
svg .tick{fill:var(--soft);font-size:12px}
svg .bar{fill:var(--bar)} svg .mark{fill:var(--mark)}
svg line{stroke-width:1;shape-rendering:crispEdges}
svg .grid{stroke:var(--grid)} svg .zero{stroke:var(--soft)}
svg .error{stroke:var(--error);stroke-width:2}
@media (max-width:30rem){table{font-size:.85rem} th,td{padding-right:.45rem}
td.number{white-space:normal}}
@media print{
:root{--page:#fff;--ink:#000;--soft:#333;--line:#bbb;--panel:#f4f4f4;--bar:#5f95cb;--mark:#1f5f9e;
--error:#000;--grid:#ddd;--link:#000}
@page{margin:18mm}
body{font-size:10.5pt;max-width:none;padding:0}
nav{display:none}
h2{margin-top:1.6rem}
h1,h2,h3,h4,caption{break-after:avoid}
article,figure,table,tr,.quote,li{break-inside:avoid}
.wide{overflow:visible} table{font-size:9.5pt} td.number{white-space:normal}
svg .bar,svg .mark,.quote{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
"""
