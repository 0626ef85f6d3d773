"""Diagrams by kind, each under a name. Whether one is valid is not for us to say: the recorded verdicts do."""

from __future__ import annotations

from collections.abc import Mapping

_C4 = "C4Context\n"
_CLASS = "classDiagram\n"
_ER = "erDiagram\n"
_FLOW = "flowchart TD\n"
_STATE = "stateDiagram-v2\n"
_SEQUENCE = "sequenceDiagram\n"

TABLE: Mapping[str, Mapping[str, str]] = {
    "flowchart": {
        "plain": "flowchart TD\n  A --> B\n",
        "graph": "graph LR\n  A[Client] -->|HTTP| B(Server)\n  B --> C[(Database)]\n",
        "one-line": "graph TD;A-->B;B-->C",
        "no-direction": "graph\n A-->B",
        "shapes": _FLOW + "A([a]) --> B[[b]] --> C((c)) --> D{{d}}\nE>e] --- F[/f/] --- G[\\g\\]\n",
        "new-shapes": _FLOW + 'A@{ shape: rect, label: "x" }\n',
        "subgraph": _FLOW + "subgraph one [First part]\n  a1 --> a2{Good?}\nend\na2 -- yes --> b\n",
        "links": "flowchart LR\n A --o B --x C <--> D\n A ==> B\n A -.-> C\n A ~~~ D\n",
        "chains": _FLOW + "A --> B & C --> D\n",
        "quoted": _FLOW + 'A["a (b)"] -->|"c (d)"| B\n',
        "markdown": _FLOW + 'A["`**bold**`"] e1@--> B\ne1@{ animate: true }\n',
        "unicode": _FLOW + "A[Ünï €] --> B[日本]\n",
        "styles": _FLOW
        + "A-->B\nstyle A fill:#f9f,stroke:#333\nclassDef hot fill:#f96\nclass B hot\nlinkStyle 0 stroke:red\n",
        "click": _FLOW + 'A --> B\nclick A "https://example.org" _blank\nclick B call back()\n',
        "front-matter": "---\ntitle: x\nconfig:\n  theme: dark\n---\nflowchart TD\n A-->B\n",
        "directive": "%%{init: {'theme':'dark'}}%%\ngraph TD\n A-->B\n",
        "comment": "flowchart TD\n%% a comment\n A-->B\n",
        "crlf": "graph TD\r\n A-->B\r\n",
        "percent-in-label": _FLOW + "A[50 %% off] -->|5 %% x| B\n",
        "percent-in-link": _FLOW + "A -- 5 %% --> B\n",
        "remark-behind-style": _FLOW + "A\nstyle A fill:#f9f %% c\n",
        "open-bracket": _FLOW + "A[a --> B\n",
        "brackets-in-label": _FLOW + "A[a (b)] --> B\n",
        "no-target": _FLOW + "A -->\n",
        "reserved-end": _FLOW + "end --> B\n",
        "open-subgraph": _FLOW + "subgraph x\n a-->b\n",
        "wrong-arrow": _FLOW + "A -> B\n",
        "lower-case-direction": "flowchart td\n A-->B\n",
        "unknown-direction": "graph UP\n A-->B\n",
        "words-behind-head": "flowchart TD oops\n A-->B\n",
        "statement-behind-head": "graph TD A-->B\n",
        "blank-before-semicolon": "graph TD ; A-->B\n",
        "no-direction-semicolon": "graph;A-->B",
        "remark-behind-link": _FLOW + "A --> B %% c\n",
        "remark-behind-label": _FLOW + "A[x] --> B[y] %% c\n",
        "remark-behind-node": _FLOW + "A %% c\nA --> B\n",
        "style-function": _FLOW + "A\nstyle A fill:rgb(1,2,3)\n",
        "style-alone": _FLOW + "A\nstyle A\n",
        "class-alone": _FLOW + "A\nclassDef x\n",
        "empty-label": _FLOW + "A[] --> B\n",
        "empty-link-label": _FLOW + "A -->|| B\n",
        "remark-behind-end": _FLOW + "subgraph a\n x\nend %% c\n",
        "link-style-out-of-range": _FLOW + "A-->B\nlinkStyle 5 stroke:red\n",
    },
    "sequence": {
        "plain": _SEQUENCE + "A->>B: Hello\nB-->>A: Hi\n",
        "blocks": _SEQUENCE
        + "A->>+B: x\nalt good\n B-->>-A: y\nelse bad\n B-xA: z\nend\nloop daily\n A-)B: ping\nend\n",
        "actors": _SEQUENCE + "autonumber\nparticipant A as Alice\nactor B\nNote over A,B: together\nA->>B: x\n",
        "box": _SEQUENCE + "box Purple A & B\nparticipant A\nend\nA->>B: hi\n",
        "created": _SEQUENCE + "A->>B: x\ncreate participant C\nB->>C: x\ndestroy C\nB-xC: bye\n",
        "rectangle": _SEQUENCE + "rect rgb(1,2,3)\nB->>A: y\nend\n",
        "remark": _SEQUENCE + "A->>B: x %% c\n",
        "no-message": _SEQUENCE + "A->>B\n",
        "no-arrow": _SEQUENCE + "A->>B: x\nfoo bar\n",
        "open-loop": _SEQUENCE + "loop x\n A->>B: y\n",
        "end-too-many": _SEQUENCE + "A->>B: y\nend\n",
        "semicolon": _SEQUENCE + "A->>B: a; b\n",
        "deactivate-inactive": _SEQUENCE + "A->>B: x\ndeactivate B\n",
    },
    "class": {
        "plain": _CLASS + "Animal <|-- Duck\nAnimal : +int age\nAnimal: +isMammal()\n",
        "body": _CLASS + "class Shape {\n  <<abstract>>\n  -float x\n  +area() float\n  +List~int~ points\n}\n",
        "one-line-body": _CLASS + "class A { +int x }\n",
        "closed-on-last-member": _CLASS + "class A {\n +int x }\n",
        "empty-body": _CLASS + "class A{}\n",
        "relations": _CLASS + 'A "1" o-- "many" B : has\nC ..|> D\nE *-- F\nnote for A "round"\n',
        "namespace": _CLASS + "namespace N {\n class A {\n  +int x\n }\n}\n",
        "one-line-body-in-namespace": _CLASS + "namespace N {\n class A { +int x }\n}\n",
        "remark-in-body": _CLASS + "class A {\n +int x %% c\n}\n",
        "open-body": _CLASS + "class A {\n +int x\n",
        "open-body-before-class": _CLASS + "class A {\n +int x\nclass B {\n +int y\n}\n",
        "brace-in-body": _CLASS + "class A {\n +area() {float}\n}\n",
        "brace-too-many": _CLASS + "class A {\n +int x\n}\n}\n",
        "no-target": _CLASS + "A <|--\n",
        "remark-behind-class": _CLASS + "class A %% c\n",
        "bracket-in-name": _CLASS + "A( : +int age\n",
    },
    "state": {
        "plain": _STATE + "[*] --> Idle\nIdle --> Busy : start\nBusy --> [*]\n",
        "old": "stateDiagram\n[*] --> A\n",
        "composite": _STATE + "state Busy {\n [*] --> Half\n Half --> [*]\n}\n",
        "named": _STATE + 'state "long name" as s\ns --> [*]\nnote right of s : waits\n',
        "fork": _STATE + "state f <<fork>>\nA --> f\nf --> B\nf --> C\n",
        "styled": _STATE + "classDef bad fill:#f00\nA:::bad --> B\n",
        "open-composite": _STATE + "state Busy {\n [*] --> Half\n",
        "no-target": _STATE + "A -->\n",
        "wrong-arrow": _STATE + "A ->> B\n",
        "colons-behind": _STATE + "A --> B::\n",
    },
    "er": {
        "plain": _ER + "CUSTOMER ||--o{ ORDER : places\n",
        "attributes": _ER + 'ORDER {\n int id PK\n string note "why"\n}\n',
        "in-words": _ER + "A one or more to zero or one B : x\n",
        "quoted": _ER + '"A b" ||--|| C : "has many"\n',
        "no-label": _ER + "A ||--|| B\n",
        "no-target": _ER + "A ||--||\n",
        "open-entity": _ER + "A {\n int id\n",
        "remark": _ER + 'A ||--|| B : "x" %% c\n',
        "remark-behind-attribute": _ER + "A {\n string a %% c\n}\n",
        "wrong-cardinality": _ER + "A |x--|| B : y\n",
    },
    "c4-context": {
        "plain": _C4 + 'Person(a, "A")\nSystem(b, "B", "does things")\nRel(a, b, "uses", "HTTPS")\n',
        "boundaries": _C4
        + 'Enterprise_Boundary(x, "X") {\n System_Ext(b, "B")\n SystemDb(c, "C")\n}\nBiRel(b, c, "y")\n',
        "closed-on-last-line": _C4 + 'Boundary(x, "y") {\nSystem(a,"b")}\n',
        "styles": _C4
        + 'Person(a, "A")\nUpdateElementStyle(a, $bgColor="red")\nUpdateLayoutConfig($c4ShapeInRow="3")\n',
        "no-quotes-in-the-middle": _C4 + 'Person(a, b c, "d")\n',
        "remark": _C4 + 'Person(a, "b") %% c\n',
        "remark-before-more": _C4 + 'Person(a, "b") %% c\nPerson(c, "d")\n',
        "remark-behind-brace": _C4 + 'Boundary(a, "b") { %% c\n Person(c, "d")\n}\n',
        "percent-in-quotes": _C4 + 'Person(a, "b) %% c")\nPerson(c, "d")\n',
        "brace-on-its-line": _C4 + 'Boundary(a, "b")\n{\n Person(c, "d")\n}\n',
        "empty-arguments": _C4 + 'Person(a, "", , "c")\n',
        "single-quotes": _C4 + "Person(a, 'b')\n",
        "stray-before-quotes": _C4 + 'Person(a,>"b")\n',
        "no-comma": _C4 + 'Person(a, b c "d")\n',
        "no-quotes": _C4 + "Person(a, b)\n",
        "no-quotes-at-the-end": _C4 + 'Person(a, "b")\nRel(a, a, uses)\n',
        "alias-alone": _C4 + "Person(a)\n",
        "blank-at-the-end": _C4 + 'Person(a, "b" )\n',
        "blank-before-bracket": _C4 + 'Person (a, "b")\n',
        "nothing-given": _C4 + "Person()\n",
        "open-bracket": _C4 + 'Person(a, "b"\n',
        "open-boundary": _C4 + 'System_Boundary(x, "y") {\nSystem(a, "b")\n',
        "boundary-without-label": _C4 + 'Container_Boundary(x) {\nContainer(a, "b")\n}\n',
        "unknown-macro": _C4 + 'Human(a, "b")\n',
        "empty": "C4Context\n",
    },
    "c4-container": {
        "plain": 'C4Container\nContainer(a, "A", "Python", "serves", $tags="v")\nContainerDb(b, "B", "SQL")\n'
        'Rel(a, b, "reads")\n',
        "broken": 'C4Container\nContainer(a, "A", Python)\n',
    },
    "c4-component": {
        "plain": 'C4Component\nContainer_Boundary(x, "X") {\n Component(a, "A", "class", "does")\n}\n',
        "broken": 'C4Component\nContainer_Boundary(x, "X") {\n Component(a, "A", "class", "does")\n',
    },
    "c4-dynamic": {
        "plain": 'C4Dynamic\nContainer(a, "A")\nContainer(b, "B")\nRelIndex(1, a, b, "asks")\n',
        "broken": 'C4Dynamic\nContainer(a, "A")\nRelIndex(1, a, a)\n',
    },
    "c4-deployment": {
        "plain": 'C4Deployment\nDeployment_Node(m, "Mobile", "iOS") {\n Container(a, "App", "Swift")\n}\n',
        "broken": 'C4Deployment\nDeployment_Node(m, "Mobile", "iOS"\n',
    },
    "gantt": {
        "plain": "gantt\ndateFormat YYYY-MM-DD\nsection One\nFirst :a1, 2024-01-01, 30d\nNext :after a1, 20d\n",
        "no-name": "gantt\n section One\n :a1, 2024-01-01, 30d\n",
        "no-date": "gantt\n First :a1, someday, 30d\n",
    },
    "pie": {"plain": 'pie title Pets\n "Dogs" : 386\n "Cats" : 85.5\n', "unquoted": "pie\n a : 3\n"},
    "journey": {
        "plain": "journey\n title Day\n section Work\n  Make tea: 5: Me, You\n",
        "no-colon": "journey\n section Work\n  Make tea\n",
    },
    "git": {
        "plain": 'gitGraph\n commit id: "x"\n branch dev\n checkout dev\n commit\n checkout main\n merge dev\n',
        "no-such-branch": "gitGraph\n commit\n checkout nope\n",
        "no-such-command": "gitGraph\n commit\n rebase dev\n",
    },
    "mindmap": {
        "plain": "mindmap\n root((a))\n  b\n   ::icon(fa fa-x)\n  c[d]\n",
        "two-roots": "mindmap\n a\n b\n",
        "open-bracket": "mindmap\n root((a\n",
    },
    "timeline": {
        "plain": "timeline\n title x\n section s\n 2000 : a : b\n",
        "broken": "timeline\n section s\n : : a\n",
        "colons-behind": "timeline\n 2000 : a::\n",
    },
    "quadrant": {
        "plain": "quadrantChart\n title x\n x-axis a --> b\n y-axis c --> d\n quadrant-1 q\n P: [0.3, 0.6]\n",
        "out-of-range": "quadrantChart\n P: [3, 0.6]\n",
        "bracket-in-text": "quadrantChart\n quadrant-1 q (\n P: [0.3, 0.6]\n",
    },
    "xychart": {
        "plain": 'xychart-beta\n title "x"\n x-axis [a, b]\n y-axis "y" 0 --> 10\n bar [1, 2]\n line [2, 3]\n',
        "broken": "xychart-beta\n bar [1, two]\n",
    },
    "requirement": {
        "plain": "requirementDiagram\nrequirement r {\n id: 1\n text: x\n risk: high\n verifymethod: test\n}\n"
        "element e {\n type: sim\n}\ne - satisfies -> r\n",
        "open-body": "requirementDiagram\nrequirement r {\n id: 1\n",
        "wrong-risk": "requirementDiagram\nrequirement r {\n id: 1\n risk: enormous\n}\n",
    },
    "block": {
        "plain": "block-beta\n columns 2\n a b\n a --> b\n",
        "open-label": 'block-beta\n columns 2\n a["x b\n',
        "no-number": "block-beta\n columns two\n a\n",
    },
    "sankey": {
        "plain": 'sankey-beta\n\nSalary,Budget,3000\n"Budget, all",Rent,1300\n',
        "no-value": "sankey-beta\n\nSalary,Budget,\n",
        "no-target": "sankey-beta\n\nSalary,,10\n",
        "two-cells": "sankey-beta\n\nSalary,Budget\n",
    },
    "packet": {
        "plain": 'packet-beta\n 0-15: "x"\n 16-31: "y"\n',
        "gap": 'packet-beta\n 0-15: "x"\n 20-31: "y"\n',
        "unquoted": "packet-beta\n 0-15: x\n",
    },
    "kanban": {
        "plain": "kanban\n todo[To do]\n  t1[Task]@{ assigned: 'me' }\n done[Done]\n  t2[Other]\n",
        "brackets": "kanban\n todo[To do]\n  t1[Ta(sk]\n",
    },
    "architecture": {
        "plain": "architecture-beta\n group g(cloud)[G]\n service a(server)[A] in g\n service b(disk)[B]\n a:R--L:b\n",
        "no-such-service": "architecture-beta\n service a(server)[A]\n a:R --> L:b\n",
        "broken": "architecture-beta\n service a(server)[A\n",
    },
    "radar": {
        "plain": 'radar-beta\n axis a["A"], b["B"], c["C"]\n curve x["X"]{1, 2, 3}\n',
        "broken": "radar-beta\n axis a, b\n curve x{1, 2\n",
    },
    "treemap": {
        "plain": 'treemap-beta\n"All"\n    "A": 10\n    "B": 20\n',
        "broken": 'treemap-beta\n"All"\n    "A": ten\n',
    },
    "none": {
        "words": "this is no diagram\n",
        "unknown-kind": "flowcart TD\n A-->B\n",
        "fence-inside": "```\nflowchart TD\n A-->B\n```\n",
        "open-front-matter": "---\ntitle: x\nflowchart TD\n A-->B\n",
    },
}


def rows() -> dict[str, str]:
    """Return every diagram of the table under its full name."""
    return {f"{kind}/{name}": text for kind, named in TABLE.items() for name, text in named.items()}
