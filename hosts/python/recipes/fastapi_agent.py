"""Plain FastAPI: one route is the agent, and Parley calls it for each message (docs/http.md).

uvicorn fastapi_agent:app --port 8000 &
parley serve --http http://127.0.0.1:8000/agent
"""

from typing import Any, Dict

from fastapi import FastAPI

app = FastAPI()


@app.post("/agent")
def answer(line: Dict[str, Any]) -> Dict[str, Any]:
    """Asks if the message is empty; the answer to a question comes with what was kept in "state"."""
    if line["type"] == "answer":
        return {"text": f"{line['state']['greeting']}, {line['text']}."}
    if not line["text"]:
        return {"ask": "What is your name?", "state": {"greeting": "Hello"}}
    return {"text": f"You said {line['text']}."}
