"""The style of report.html: light and dark, and on paper."""

STYLE = """
:root{--ink:#1f2328;--soft:#5b6570;--paper:#fff;--card:#f6f7f8;--line:#dfe3e7;--accent:#2d6a8a;--good:#23764a;--bad:#b3362b;
--k0:#2d6a8a;--k1:#c8553d;--k2:#4f8a4c;--k3:#8a5aa0;--k4:#b98a1d;--k5:#3aa0a8;--k6:#d07aa4;--k7:#7a7f85;
--b0:#7fb0cf;--b1:#e5b184;--b2:#a5cda0;--b3:#c3a7d4;--b4:#e2d27f;--b5:#a9d8d8;--b6:#e7a7b4;--b7:#b9bec4}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e4e7ea;--soft:#9aa5b0;--paper:#15181b;--card:#1d2125;
--line:#32383e;--accent:#7fb8d8;--good:#6cc592;--bad:#ef8a7e;--k0:#6fb3d6;--k1:#ef8d75;--k2:#86c482;--k3:#c39ad6;--k4:#e0bb5a;--k5:#6fd0d6;
--k6:#eba3c7;--k7:#b0b6bc;--b0:#3c6b88;--b1:#8a5f38;--b2:#4b7547;--b3:#6b4f7c;--b4:#7c6e26;--b5:#3f7a7a;--b6:#84505c;--b7:#5b6167}}
*{box-sizing:border-box}html{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;color:var(--ink);
background:var(--paper)}body{max-width:1080px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:28px;margin:0;line-height:1.2}h2{font-size:19px;margin:38px 0 12px;border-bottom:1px solid var(--line);
padding-bottom:5px}p{margin:6px 0}.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}
header{display:flex;justify-content:space-between;gap:20px;align-items:flex-start;flex-wrap:wrap}
.verdict{font-weight:600;font-size:16px;padding:6px 14px;border-radius:99px;border:1.5px solid currentColor;
white-space:nowrap}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:10px;margin:22px 0 0}
.tile{background:var(--card);border-radius:8px;padding:10px 14px}.tile b{display:block;font-size:20px;font-weight:600}
.tile span{color:var(--soft);font-size:13px}
.frames{display:grid;grid-template-columns:repeat(auto-fill,minmax(310px,1fr));gap:12px}
.frames figure{margin:0;background:var(--card);border-radius:8px;overflow:hidden}
.frames img{display:block;width:100%;height:auto}
.frames figcaption{padding:6px 12px 9px;font-size:13px;color:var(--soft)}.frames b{color:var(--ink)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:14px}
.plot{margin:0;background:var(--card);border-radius:8px;padding:10px 12px 4px}.plot svg{display:block;width:100%}
.plot figcaption{font-size:14px}.plot i{color:var(--soft);font-style:normal;font-size:13px}
.key{display:inline-block;font-size:12px;color:var(--soft);margin-right:12px}
.key::before{content:"";display:inline-block;width:14px;height:3px;border-radius:2px;margin-right:5px;
vertical-align:middle;background:currentColor}
.line{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round}.grid{stroke:var(--line);stroke-width:1}
.axis{stroke:var(--soft);stroke-width:1}.tick{font-size:11.5px;fill:var(--soft)}
.timeline{display:block;width:100%;font-size:14px;margin-bottom:8px}
.timeline text{fill:var(--ink)}.timeline .tick{fill:var(--soft)}
rect{opacity:.28}rect.solid{opacity:.9}
.k0{color:var(--k0)}.k1{color:var(--k1)}.k2{color:var(--k2)}.k3{color:var(--k3)}.k4{color:var(--k4)}.k5{color:var(--k5)}
.k6{color:var(--k6)}.k7{color:var(--k7)}.b0{fill:var(--b0)}.b1{fill:var(--b1)}.b2{fill:var(--b2)}.b3{fill:var(--b3)}
.b4{fill:var(--b4)}.b5{fill:var(--b5)}.b6{fill:var(--b6)}.b7{fill:var(--b7)}
table{border-collapse:collapse;width:100%;font-size:14px}th{text-align:left;font-weight:600;color:var(--soft)}
td,th{padding:5px 14px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n{font-variant-numeric:tabular-nums;white-space:nowrap}
pre{background:var(--card);border-radius:8px;padding:12px 14px;overflow-x:auto;font-size:13px;line-height:1.45}
summary{cursor:pointer;color:var(--accent)}
@media print{html{font-size:11px;background:#fff}body{max-width:none;padding:0}h1{font-size:22px}
h2{font-size:15px;margin:22px 0 8px;break-after:avoid}
.tiles{grid-template-columns:repeat(auto-fit,minmax(84px,1fr));gap:6px}
.tile{padding:6px 8px}.tile b{font-size:13px;white-space:nowrap}
.tile span,.key,.plot i,.frames figcaption{font-size:9.5px}
.frames{grid-template-columns:1fr 1fr 1fr;gap:8px}.plots{grid-template-columns:1fr 1fr;gap:8px}
.plot figcaption{font-size:11px}
table{font-size:10.5px}td,th{padding:3px 10px 3px 0}pre{font-size:10px;padding:8px 10px;white-space:pre-wrap}
.plot,.frames figure,.tile,pre,tr{break-inside:avoid}.plot,.frames figure,.tile{border:1px solid #ddd}}
@page{margin:14mm}
"""
