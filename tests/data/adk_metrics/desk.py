"""An agent with a script: what it calls and answers at each question."""


def search_docs(query):
    return {"documents": ["sales.md"]}


def run_sql(sql):
    return {"rows": [[3]]}


def choose_sheet(sheet, tax_type):
    return {"sheet": sheet}


def create_document(title):
    return {"artifact": "a1", "url": "https://docs.example/a1"} if title else {"error": "no title"}


def ask_human(question):
    return {"approved": True}


def make_asset(kind):
    return {"asset": kind}


def transfer_to_agent(agent_name):
    return {"result": None}


MAY = "select amount from sales where month = 'May'"
SCRIPT = {
    "Sales in May?": (
        [(search_docs, {"query": "sales"}), (run_sql, {"sql": MAY})],
        "Sales in May were 3.",
    ),
    "Make the tax sheet.": (
        [(choose_sheet, {"sheet": "Q2", "tax_type": "vat"}), (create_document, {"title": "VAT"})],
        "The sheet is ready.",
    ),
    "Make a banner.": ([(ask_human, {"question": "ok?"}), (make_asset, {"kind": "banner"})], "Here it is."),
    "Sales in May, wrongly?": (
        [(run_sql, {"sql": "select amount from sales where month = 'April'"}), (create_document, {"title": ""})],
        "sales in May were 7" + " or so" * 40,
    ),
    "Make the wrong sheet.": (
        [
            (transfer_to_agent, {"agent_name": "poet_agent"}),
            (choose_sheet, {"sheet": "Q1", "tax_type": "vat"}),
            (create_document, {"title": ""}),
        ],
        "Sorry, 1 sheet.",
    ),
    "Make a banner unasked.": ([(make_asset, {"kind": "banner"})], "Here it is."),
}


async def root_agent(message, session):
    calls, answer = SCRIPT[message.text]
    for tool, args in calls:
        await session.call_tool(tool, **args)
    return answer
