"""A round trip with the generated client."""

import json
import os

import chancery_client as client

configuration = client.Configuration(host=os.environ["CHANCERY_URL"])
with client.ApiClient(configuration) as api:
    credentials = client.Credentials(
        identity=os.environ["CHANCERY_EMAIL"], password=os.environ["CHANCERY_PASSWORD"]
    )
    session = client.AuthApi(api).sign_in_with_password("_superusers", credentials)
    configuration.api_key["token"] = session.token
    records = client.RecordsApi(api)

    created = records.create_record_posts(posts_create=client.PostsCreate(title="Hello", views=7, kind="b"))
    listed = records.list_records_posts(filter=f"id='{created.id}'")
    read = records.view_record_posts(created.id)
    try:
        # Without model_construct the client itself would refuse the empty title.
        records.create_record_posts(posts_create=client.PostsCreate.model_construct(title=""))
        raise SystemExit("expected a refusal")
    except client.exceptions.BadRequestException as error:
        refused = error.data
    records.delete_record_posts(created.id)
    try:
        records.view_record_posts(created.id)
        raise SystemExit("expected a refusal")
    except client.exceptions.NotFoundException as error:
        missing = error.data

    print(
        json.dumps(
            {
                "listed": len(listed.items),
                "total": listed.total_items,
                "title": read.title,
                "views": read.views,
                "kind": read.kind,
                "refused": refused.to_dict()["data"],
                "status": missing.status,
            }
        )
    )
